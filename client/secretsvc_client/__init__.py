"""The command-line client of secretsvc. This file alone must parse on every old Python."""

import sys

VERSION = "0.1.0"
#: The oldest Python that runs it. pip refuses an older one, but any can start the single file.
OLDEST = (3, 9)

if sys.version_info < OLDEST:
    sys.exit("secretsvc needs Python 3.9 or later; this is " + sys.version.split()[0])
