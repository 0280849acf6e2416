"""Text from strangers' files, made harmless for terminals, Markdown, HTML and file names."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from html import escape

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Kinds of characters that nobody sees: controls, direction overrides, line separators, halves of pairs."""
MARKUP = re.compile(r"[<>&\\`\[\]]")
ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def plain_text(text: str) -> str:
    """One line, without characters that control, hide or turn what follows them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if unicodedata.category(sign) in HIDDEN else sign for sign in text)


def markdown_text(text: str) -> str:
    """Text in Markdown, where tags and signs of markup are text too."""
    return MARKUP.sub(lambda sign: ENTITIES.get(sign[0], f"\\{sign[0]}"), plain_text(text))


def html_text(text: str, quote: bool = True) -> str:
    """Text in HTML; its lines stay apart."""
    return escape("\n".join(map(plain_text, text.split("\n"))), quote)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` where a known name is close, else nothing."""
    from difflib import get_close_matches

    spelled = {word.lower(): word for word in known}
    close = get_close_matches(name.lower(), spelled, n=1, cutoff=0.6)
    return f"; did you mean {spelled[close[0]]}?" if close else ""


def file_name(name: str) -> str:
    """The name of a file in one folder; names that had to be changed stay apart by a checksum."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-")[:100]
    if plain == name:
        return name
    return f"{plain or 'unnamed'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"
