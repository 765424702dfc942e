"""How a database gets the tables of :mod:`kandev_nb.store.tables`, one step a version.

A step that was released is never changed; the next change of a table is a new one.
"""

from typing import Final

HEAD: Final = "0002"
"""The version that this kandev-nb knows and writes."""

VERSIONS: Final = "kandev_nb_version"
"""The table that says of which version a database is."""
