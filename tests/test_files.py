"""Files are written whole or not at all."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from wocar import files
from wocar.files import (
    atomic_directory,
    named_path,
    no_link,
    read_json,
    read_json_lines,
    read_regular,
    remove_partial,
    write_json,
)
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


@pytest.mark.parametrize("swaps", [True, False], ids=["swapped", "renamed"])
def test_a_folder_is_replaced_whole_and_nothing_beside_it_is_touched(
    swaps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not swaps:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    target, own = tmp_path / "agent", tmp_path / "agent.partial"
    for folder, word in ((target, "old"), (own, "the user's")):
        folder.mkdir()
        (folder / "file").write_text(word)
    with pytest.raises(RuntimeError), atomic_directory(target) as folder:
        (folder / "file").write_text("half")
        raise RuntimeError
    assert (target / "file").read_text() == "old"
    with atomic_directory(target) as folder:
        (folder / "file").write_text("new")
        assert (target / "file").read_text() == "old"
    assert (target / "file").read_text() == "new" and (own / "file").read_text() == "the user's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "agent.partial"]
    (tmp_path / "agent.0123456789ab.partial").mkdir()
    remove_partial(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "agent.partial"]


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 101)
    for path, words in ((tmp_path / "pipe", "regular"), (Path("/dev/zero"), "regular"), (tmp_path / "large", "101")):
        with pytest.raises(UserError, match=words):
            read_regular(path, 100)
    assert read_regular(tmp_path / "large", 101) == b"x" * 101


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * (2 * files.MOST_VALUES) + "0]",
        '{"a": "' + "]" * 900 + '", "b": ' + "[" * 900 + "]" * 900 + "}",
        '["' + '\\"' * 400_000 + "[" * 100,
    ],
    ids=["values", "depth beside a text of closing brackets", "a text without end"],
)
def test_json_is_bounded_in_values_and_depth(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UserError, match=r"values|nested|not JSON"):
        read_json(tmp_path / "x.json")


def test_lines_are_bounded_in_number(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("{}\n" * (files.MOST_VALUES // 2 + 1))
    with pytest.raises(UserError, match="values"):
        read_json_lines(tmp_path / "metrics.jsonl")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    (tmp_path / "dangling").symlink_to(tmp_path / "new")
    for name, mode in (("link", "w"), ("link", "a"), ("link", "r+"), ("dangling", "w")):
        with pytest.raises(OSError, match="symbolic"), open(tmp_path / name, mode, opener=no_link):
            pass
    assert (tmp_path / "precious").read_text() == "kept" and not (tmp_path / "new").exists()


def test_a_name_that_nothing_can_have_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    deep = "/".join(["a" * 200] * 20)
    edge = "/".join(["a" * 200] * 30)[: os.pathconf(tmp_path, "PC_PATH_MAX") - len(str(tmp_path)) - 6]
    for name in ("a" * 5000, deep, edge, "a\0b", "\ud800", "loop", "loop/x"):
        assert named_path(tmp_path, name) is None, name[:20]
    for name in ("", "file", "file/x", "nope/x", "../x", "/x"):
        path = named_path(tmp_path, name)
        assert path == tmp_path / name and not (path / "run.json").is_file()
