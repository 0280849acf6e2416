"""`wocar completion`: the script in a real shell, asked as the shell asks it."""

import shutil
import subprocess
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
    file.write_text(script())
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


def test_zsh_gets_the_bash_mode_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["zsh"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("autoload -U +X bashcompinit && bashcompinit\n_wocar() {")
    assert shown.endswith("complete -o default -F _wocar wocar\n")
