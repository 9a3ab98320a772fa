"""The entry of the script `secretsvc-server`, also `python -m secretsvc`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the script. An interrupt while it loads is one line, and exit code 130."""
    try:
        from secretsvc.commands import main as run
    except KeyboardInterrupt:
        print("secretsvc-server: interrupted", file=sys.stderr)
        sys.exit(130)
    run(prog_name="secretsvc-server")


if __name__ == "__main__":
    main()
