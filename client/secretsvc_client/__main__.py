"""`python -m secretsvc_client`, and the start of the single file."""

from __future__ import annotations

import sys

from secretsvc_client.cli import main

if __name__ == "__main__":
    sys.exit(main())
