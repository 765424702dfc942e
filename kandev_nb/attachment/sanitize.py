"""Placeholder until the sanitizer lands."""

from __future__ import annotations
from collections.abc import Iterable
from urllib.parse import urlsplit


class KnownSecrets:
    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(values)

    def __or__(self, other: KnownSecrets | Iterable[str]) -> KnownSecrets:
        return KnownSecrets(
            self.values | (other.values if isinstance(other, KnownSecrets) else frozenset(other))
        )


def sanitize_target(transport: str, target: str) -> str:
    if "://" in target:
        u = urlsplit(target)
        return f"{u.scheme}://{u.netloc.rpartition('@')[2]}"
    return target.rsplit("/", 1)[-1]


def sanitize_summary(text: str, secrets: KnownSecrets | Iterable[str] = ()) -> str:
    return text[:256]
