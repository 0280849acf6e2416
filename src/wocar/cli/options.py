"""Command-line options from dataclasses, with one line for each mistake."""

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Any, TypeVar

import tyro
from rich.console import Console, RenderableType

from wocar.cli.option_types import number, rules
from wocar.text import plain_text
from wocar.types import UserError

T = TypeVar("T")
ANSI = re.compile(r"\x1b\[[0-9;]*m|[╭╮╰╯│─]+|-{5,}")


def parse(kind: Any, argv: list[str], command: str, description: str, default: Any = None) -> Any:
    """The options of a dataclass; --help prints and ends, a wrong option is a UserError."""
    wants_help = any(a in ("-h", "--help") for a in argv)
    said = io.StringIO()
    extra = {} if default is None else {"default": default}
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.AvoidSubcommands)
    try:
        with contextlib.nullcontext() if wants_help else contextlib.redirect_stderr(said):
            prog = f"wocar {command}"
            return tyro.cli(
                kind, args=argv, prog=prog, description=description, config=config, registry=rules(), **extra
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        words = " ".join(ANSI.sub(" ", said.getvalue()).split())
        raise UserError(f"{_mistake(words)}; see wocar {command} --help") from None


def _mistake(words: str) -> str:
    """What the parser said, without its headings and help texts."""
    words = re.sub(r"^(Parsing error|(Unrecognized|Required) options|Missing argument|Value error)\s+", "", words)
    words = words.removeprefix("Invalid choice ")
    words = re.split(r" For full helptext| Argument helptext:", words)[0].strip()
    if missing := re.match(r"Missing value for argument '(.+?)'", words):
        return f"{missing[1]} needs a value"
    if missing := re.match(r"Missing from wocar [\w -]+?: (\S+)", words):
        return f"{missing[1]} is missing"
    words = re.sub(r"^Error parsing (.+?): ", r"\1: ", words)
    words = re.sub(r"\s*Perhaps you meant: (--[\w-]+).*", r"; did you mean \1?", words)
    if unknown := re.match(r"Unrecognized options: (.*?)(; did you mean .*)?$", words):
        options = [word for word in unknown[1].split(", ") if word.startswith("-")] or [unknown[1]]
        return f"unknown option {', '.join(options)}{unknown[2] or ''}"
    return words


def peek(argv: list[str], option: str, default: str) -> str:
    """The value of an option before the real parsing, where defaults depend on it; given twice, the last counts."""
    value = default
    for i, word in enumerate(argv):
        if word == option and i + 1 < len(argv):
            value = argv[i + 1]
        elif word.startswith(option + "="):
            value = word.split("=", 1)[1]
    return value


def words(text: str | None) -> list[str] | None:
    """Parts of a text that commas separate."""
    return [word.strip() for word in text.split(",") if word.strip()] if text is not None else None


def radii(text: str | None) -> list[float] | None:
    try:
        return [number(word) for word in words(text) or []] if text is not None else None
    except ValueError:
        raise UserError(f"--eps must be a number, or several with commas, not {text!r}") from None


def check_folder(*files: Path | None) -> None:
    """A UserError, before any work is done, where one of the files could not be written."""
    for file in files:
        if file and not file.parent.is_dir():
            raise UserError(f"cannot write {file}: its folder does not exist")
        if file and file.is_dir():
            raise UserError(f"cannot write {file}: it is a folder")


def show(renderable: RenderableType) -> None:
    """Print to the standard output; where its reader has gone, the command goes on without."""
    try:
        Console().print(renderable)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def drop_output() -> None:
    """Send further output nowhere: also what Python writes when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def clock(seconds: float) -> str:
    """12 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def say(line: str) -> None:
    print(f"wocar: {plain_text(line)}", file=sys.stderr)
