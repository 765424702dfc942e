"""The words of a page in other languages than English, which is where they are said.

One language is one JSON file in this folder: a template by message key. The keys of the kernel are
those of :data:`kandev_nb.attachment.words.ENGLISH`; those of the page itself begin with ``page.``.
"""

import json
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent


def templates(language: str) -> dict[str, str] | None:
    """Return the templates of a language such as ``de-AT``, ``None`` for one that is not here."""
    main = language.replace("_", "-").partition("-")[0].lower()
    # Looked up, not joined: the page says which one, and could say any path.
    found = next((path for path in FOLDER.glob("*.json") if path.stem == main), None)
    if found is None:
        return None
    words: dict[str, str] = json.loads(found.read_text(encoding="utf-8"))
    return words
