"""The command-line client of secretsvc. This file alone must parse on every old Python."""

import sys

VERSION = "0.1.0"

if sys.version_info < (3, 9):  # noqa: UP036  # pip refuses it, and the single file does not
    sys.exit("secretsvc needs Python 3.9 or later; this is %d.%d" % sys.version_info[:2])  # noqa: UP031
