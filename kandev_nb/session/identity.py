"""Identifiers that only the controller makes (EV-8)."""

import secrets


def new_id(kind: str) -> str:
    """Return a new opaque ID, such as ``attempt-3f9c2a1b5d7e``."""
    return f"{kind}-{secrets.token_hex(6)}"
