"""wocar completion bash|zsh"""

import contextlib
import importlib
import io
import os
import re
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from wocar.cli.options import parse
from wocar.evaluation.attack_registry import attack_names
from wocar.evaluation.frozen_suites import SUITES
from wocar.methods.registry import all_methods
from wocar.zoo.entries import entries

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
TAKES_AGENT = ("audit", "estimate", "harden", "sensors", "record", "export")
BASH = """\
_wocar() {
  local line=${COMP_LINE:0:COMP_POINT}
  local cur=${line##* } words
  read -ra words <<< "${line%"$cur"}"
  local command=${words[1]} before=${words[${#words[@]}-1]} choices= head=
  case $before in
    --suite) choices='SUITES' ;;
    --attack|--attacks) choices='ATTACKS' head=${cur%"${cur##*,}"} ;;
    *)
      case $command in
COMMANDS
        '') choices='NAMES' ;;
      esac
      [[ ${#words[@]} -eq 1 ]] && choices='NAMES' ;;
  esac
  COMPREPLY=($(compgen -P "$head" -W "$choices" -- "${cur#"$head"}"))
  if [[ $cur == *:* && ${COMP_WORDBREAKS-} == *:* ]]; then
    local cut=${cur%"${cur##*:}"} i
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$cut"}; done
  fi
}
complete -o default -F _wocar wocar
"""
ZSH = """\
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
_wocar() {
  local choices=
  case ${words[CURRENT-1]} in
    --suite) choices='SUITES' ;;
    --attack|--attacks) choices='ATTACKS'; compset -P '*,' ;;
    *)
      case ${words[2]} in
COMMANDS
      esac
      (( CURRENT == 2 )) && choices='NAMES' ;;
  esac
  compadd -- ${=choices} || _files
}
compdef _wocar wocar
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH}


@dataclass(frozen=True)
class CompletionOptions:
    shell: Annotated[Literal["bash", "zsh"], tyro.conf.Positional]
    """The shell whose script is printed."""


def main(argv: list[str]) -> int:
    about = 'Script that completes commands, options and names: eval "$(wocar completion bash)".'
    options: CompletionOptions = parse(CompletionOptions, argv, "completion", about)
    print(script(options.shell), end="")
    return 0


def script(shell: str) -> str:
    from wocar.cli import COMMANDS

    known = {name: [*_first_words(name), *_options(name)] for name in COMMANDS}
    cases = "\n".join(f"        {name}) choices='{' '.join(words)}' ;;" for name, words in known.items())
    filled = {"SUITES": " ".join(SUITES), "ATTACKS": " ".join(attack_names()), "NAMES": " ".join(COMMANDS)}
    text = SCRIPTS[shell].replace("COMMANDS\n", f"{cases}\n")
    for name, words in filled.items():
        text = text.replace(f"'{name}'", f"'{words}'")
    return text


def _first_words(command: str) -> list[str]:
    """What may follow a command and is no option."""
    if command in ("train", "methods"):
        return [method.name for method in all_methods()]
    if command == "suites":
        return list(SUITES)
    if command == "completion":
        return ["bash", "zsh"]
    return [f"zoo:{entry.name}" for entry in entries()] if command in TAKES_AGENT else []


def _options(command: str) -> list[str]:
    """The options that the help of a command names; of `train` those of every method."""
    asked = [[method.name, "--help"] for method in all_methods()] if command == "train" else [["--help"]]
    found = [option for words in asked for option in OPTION.findall(_help(command, words))]
    return list(dict.fromkeys(found))


def _help(command: str, words: list[str]) -> str:
    """At a width at which no option is broken."""
    said, before = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "200"
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            importlib.import_module(f"wocar.cli.{command}_command").main(words)
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return said.getvalue()
