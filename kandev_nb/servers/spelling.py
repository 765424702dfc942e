"""The word that was perhaps meant by one that nobody knows."""

import difflib
from collections.abc import Iterable
from typing import Final

_ALIKE: Final = 0.65
_LOOKED_AT: Final = 80
"""Characters of a word that are compared; whatever is longer is no slip."""


def plain(word: str) -> str:
    """Return a word in the form in which words are compared: letters small, nothing between."""
    return word[:_LOOKED_AT].lower().replace("_", "").replace("-", "")


def meant(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most like this one; empty if it is one, or like none."""
    forms = {plain(name): name for name in known}
    close = difflib.get_close_matches(plain(word), forms, n=1, cutoff=_ALIKE)
    found = forms[close[0]] if close else ""
    return "" if found == word else found
