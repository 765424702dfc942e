"""Columns of evidence of many attempts, as codes into the few values that differ.

That is how evidence is kept (:mod:`kandev_nb.attachment.columns`): no value is looked at once an
event where it can be looked at once an attempt.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from kandev_nb.attachment.columns import FIRST_CODE, Column, plain

Codes = npt.NDArray[np.intp]


class Coded(NamedTuple):
    """Values as codes into those that differ; the last of these is the empty text."""

    codes: Codes
    values: npt.NDArray[np.object_]

    def texts(self) -> Any:
        """Return them as an array of text."""
        return pd.array(self.values, dtype="string").take(self.codes)

    def category(self) -> pd.Categorical:
        """Return them as a category of those that occur, in order."""
        used = np.flatnonzero(np.bincount(self.codes, minlength=len(self.values)))
        names, places = np.unique(self.values[used].astype(str), return_inverse=True)
        lookup = np.zeros(len(self.values), dtype=np.intp)
        lookup[used] = places
        return pd.Categorical.from_codes(lookup[self.codes], pd.Index(names, dtype="string"))

    def counts(self, default: int, missing: npt.NDArray[np.bool_]) -> Any:
        """Return them as an array of whole numbers, without those that are missing."""
        numbers = np.array([value or default for value in self.values], dtype="int64")
        return pd.arrays.IntegerArray(numbers[self.codes], missing)


class Gathered:
    """One column, gathered attempt by attempt; an attempt may not have it."""

    def __init__(self) -> None:
        self._attempts: list[int] = []
        self._values: list[Any] = []
        self._sizes: list[int] = []
        self._codes: list[str] = []

    def add(self, attempt: int, column: Column) -> None:
        """Add what that attempt has, later ones later."""
        if isinstance(column, dict):
            values, codes = column["values"], column["codes"]
        else:
            values = plain(column)
            codes = _each(len(values))
        self._attempts.append(attempt)
        self._values += values
        self._sizes.append(len(values))
        self._codes.append(codes)

    def coded(self, lengths: Codes) -> Coded:
        """Return the column of all attempts, of which each has that many events."""
        within = np.frombuffer("".join(self._codes).encode("utf-32-le", "surrogatepass"), "<u4")
        sizes = np.array(self._sizes, dtype=np.intp)
        before = np.cumsum(sizes) - sizes
        # What is missing has the code -1.
        codes, unique = pd.factorize(np.fromiter(self._values, object, len(self._values)))
        has_it = np.zeros(len(lengths), dtype=bool)
        has_it[self._attempts] = True
        found = np.full(lengths.sum(), -1, dtype=np.intp)
        found[np.repeat(has_it, lengths)] = codes[
            np.repeat(before, lengths[has_it]) + within - FIRST_CODE
        ]
        found[found < 0] = len(unique)
        return Coded(found, np.append(np.asarray(unique, dtype=object), [""]))


@lru_cache
def _each(length: int) -> str:
    """Return the codes of values that are there once each."""
    return "".join(map(chr, range(FIRST_CODE, FIRST_CODE + length)))
