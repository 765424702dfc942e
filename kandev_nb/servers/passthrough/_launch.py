"""Becomes a stdio server whose arguments and variables stand in no command line but its own.

Run as a file with ``python -I -S``, so it imports the standard library only. Its one argument is a
JSON file with ``command``, ``args`` and ``env``.
"""

import json
import os
import sys


def main() -> None:
    """Read the file and become what it names."""
    with open(sys.argv[1], encoding="utf-8") as file:
        launch = json.load(file)
    environment = {**os.environ, **launch["env"]}
    try:
        os.execvpe(launch["command"], [launch["command"], *launch["args"]], environment)  # noqa: S606
    except OSError as error:
        # Standard error is what an agent shows of a server that does not start.
        sys.stderr.write(f"{os.path.basename(launch['command'])}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
