"""--env and --env-kwargs of every command: names without version, and keyword arguments as part of the id."""

import re

from wocar.types import UserError


def with_full_ids(argv: list[str]) -> list[str]:
    """The words with `--env Hopper` as `--env Hopper-v4`."""
    return [
        _full(word) if before == "--env" else f"--env={_full(word[6:])}" if word.startswith("--env=") else word
        for before, word in zip(["", *argv], argv, strict=False)
    ]


def _full(name: str) -> str:
    from wocar.envs.aliases import full_id  # imports Gymnasium

    return full_id(name)


def with_env_kwargs(argv: list[str]) -> list[str]:
    """The words with `--env ID --env-kwargs a=1,b=true` as `--env ID?a=1&b=true`."""
    words, given = [], ""
    rest = iter(argv)
    for word in rest:
        if word == "--env-kwargs" or word.startswith("--env-kwargs="):
            given = word.partition("=")[2] if "=" in word else next(rest, "")
            if not re.fullmatch(r"\w+=[^,=&]+(,\w+=[^,=&]+)*", given):
                raise UserError(f"--env-kwargs must be name=value, or several with commas, not {given!r}")
        else:
            words.append(word)
    if not given:
        return words
    for i, word in enumerate(words):
        where = i + 1 if word == "--env" and i + 1 < len(words) else i if word.startswith("--env=") else None
        if where is not None:
            return [*words[:where], f"{words[where]}?{given.replace(',', '&')}", *words[where + 1 :]]
    raise UserError("--env-kwargs needs --env: the id of the environment that they are for")
