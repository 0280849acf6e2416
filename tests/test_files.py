"""Files are written whole or not at all."""

import json
import multiprocessing
from pathlib import Path

import pytest

from wocar.files import read_json, read_json_lines, write_json
from wocar.types import UserError


def _write_often(path: Path, word: str) -> None:
    for number in range(300):
        write_json(path, {"word": word, "number": number, "long": [word] * 200})


def test_processes_may_write_the_same_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_often, args=(path, word)) for word in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    data = read_json(path)
    assert data["number"] == 299 and data["long"] == [data["word"]] * 200
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    (path / "full").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot write"):
        write_json(path, {})
    assert list(tmp_path.iterdir()) == [path] and (path / "full").is_dir()


def test_half_a_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"mean": [1, 2, 3]})[:9])
    with pytest.raises(UserError, match="is damaged"):
        read_json(path)


def test_json_lines_end_before_a_line_that_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert read_json_lines(path) == []
    path.write_text('{"a": 1}\n{"a": 2}\n{"a": ')
    assert read_json_lines(path) == [{"a": 1}, {"a": 2}]
