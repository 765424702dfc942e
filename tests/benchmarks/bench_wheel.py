"""How large the wheel is, with the vocabulary and without."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def measure() -> dict[str, float]:
    """Return the figures by name, in MB (10^6 bytes)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(ROOT)]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        vocabulary = sum(
            entry.compress_size
            for entry in zipfile.ZipFile(wheel).infolist()
            if entry.filename.endswith("o200k_base.bin.gz")
        )
        size = wheel.stat().st_size
    return {
        "wheel with the vocabulary, MB (goal <= 3)": size / 1e6,
        "wheel without the vocabulary, MB": (size - vocabulary) / 1e6,
    }
