"""Other languages than English: each is one file."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter

import pytest

from kandev_nb.attachment.words import ENGLISH
from kandev_nb.widgets.languages import FOLDER, templates

PAGE_WORDS = Path(__file__).parents[2] / "labextension" / "src" / "explorer" / "words.ts"
LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.json"))

_ENTRY = re.compile(r"^  (?:'([\w.]+)'|(\w+)):\s*(?:'(.*)'|\"(.*)\"),?$", re.MULTILINE)


def english_of_the_page() -> dict[str, str]:
    """Return the page's own words, by the keys that a language has for them."""
    source = PAGE_WORDS.read_text(encoding="utf-8")
    table = source.split("const ENGLISH: Templates = {\n")[1].split("\n};\n")[0]
    table = re.sub(r":\n\s+", ": ", f"{table}\n")
    found = {f"page.{m[1] or m[2]}": m[3] or m[4] for m in _ENTRY.finditer(table)}
    assert len(found) == table.strip().count("\n") + 1, "every line of the table is read"
    return found


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.mark.req("UI")
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_word_of_the_kernel_and_of_the_page(language: str) -> None:
    english: Mapping[str, str] = {**ENGLISH, **english_of_the_page()}

    words = templates(language)

    assert words is not None
    assert words.keys() == english.keys()
    assert all(words.values())
    differing = {k for k in english if placeholders(words[k]) != placeholders(english[k])}
    assert differing == set()


@pytest.mark.req("UI")
@pytest.mark.parametrize("language", ["de", "de-AT", "DE", "de_CH"])
def test_a_language_is_found_by_its_main_part(language: str) -> None:
    words = templates(language)

    assert words
    assert words["status.active"] == "Aktiv"


@pytest.mark.req("UI")
@pytest.mark.parametrize("language", ["", "eo", "../languages/de", "*", "d"])
def test_a_language_that_is_not_there_is_not_made_up(language: str) -> None:
    assert templates(language) is None


@pytest.mark.req("UI")
def test_no_word_is_in_a_file_twice() -> None:
    for language in LANGUAGES:
        text = (FOLDER / f"{language}.json").read_text(encoding="utf-8")
        pairs = json.loads(text, object_pairs_hook=list)
        assert len(dict(pairs)) == len(pairs)
