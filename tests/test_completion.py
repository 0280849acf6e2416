"""`wocar completion`: the script in a real shell, asked as the shell asks it."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from wocar.cli.completion_command import main

ASK = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_wocar
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from wocar.cli.completion_command import script

    file = tmp_path_factory.mktemp("completion") / "wocar.sh"
    file.write_text(script("bash"))
    return file


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("wocar aud", {"audit"}),
        ("wocar ", {"audit", "train", "completion"}),
        ("wocar audit --sui", {"--suite"}),
        ("wocar audit runs/ppo --suite fast-", {"fast-v1", "fast-v2"}),
        ("wocar audit --attacks none,maxdiff-p", {"none,maxdiff-plain"}),
        ("wocar train wocar-p", {"wocar-ppo"}),
        ("wocar train sa-ppo --kappa-r", {"--kappa-reg"}),
        ("wocar audit zoo:Hopper-v4/wocar-s", {"Hopper-v4/wocar-sac"}),
        ("wocar estimate --qui", {"--quick"}),
        ("wocar completion z", {"zsh"}),
    ],
)
def test_bash_completes(line: str, expected: set[str], script: Path) -> None:
    """Bash takes a colon for the end of a word: there only what follows it is completed."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    done = subprocess.run([bash, "-c", ASK, "ask", str(script), line], capture_output=True, text=True)
    found = set(done.stdout.split())
    assert done.stderr == "" and expected <= found
    assert all(word.startswith(line.rpartition(" ")[2].rpartition(":")[2]) for word in found)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("wocar aud", "wocar audit"),
        ("wocar audit x --suite mujoco-v1 --fre", "wocar audit x --suite mujoco-v1 --fresh"),
        ("wocar audit x --suite black-box-v1 --attacks none,maxdiff-p", "--attacks none,maxdiff-plain"),
        ("wocar audit x --suite sens", "--suite sensors-v1"),
        ("wocar train wocar-p", "wocar train wocar-ppo"),
        ("wocar audit zoo:Walker2d-v4/wocar-ppo-b", "zoo:Walker2d-v4/wocar-ppo-best"),
    ],
)
def test_zsh_completes(line: str, expected: str, tmp_path: Path) -> None:
    """Typed into a real zsh, with Tab; then the line is echoed."""
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("no zsh here")
    from wocar.cli.completion_command import script

    file = tmp_path / "wocar.zsh"
    file.write_text(script("zsh"))
    start = f"autoload -Uz compinit; compinit -D -u; source {file}; echo READY\n"
    shown = _typed([zsh, "-f", "-i"], {start: "\nREADY", f"{line}\t\x01echo GOT \n": "\nGOT [^\n]*\n"}, tmp_path)
    assert expected in shown.split("\nGOT ")[-1].splitlines()[0]


def test_the_script_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["zsh"]) == 0
    assert capsys.readouterr().out.endswith("compdef _wocar wocar\n")


def _typed(command: list[str], answers: dict[str, str], home: Path, seconds: float = 60.0) -> str:
    """What a program shows on a terminal: each text is typed once the answer to the one before is there."""
    terminal, inner = pty.openpty()
    env = {**os.environ, "HOME": str(home), "TERM": "dumb", "COLUMNS": "200", "PS1": "> "}
    program = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=env, start_new_session=True)
    os.close(inner)
    shown, end = "", time.monotonic() + seconds
    for text, answer in answers.items():
        os.write(terminal, text.encode())
        while not re.search(answer, shown) and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 65536).decode(errors="replace").replace("\r", "")
    program.kill()
    program.wait()
    os.close(terminal)
    return shown
