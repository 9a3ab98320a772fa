"""`python -m demo development.ini`: fills the development database, once."""

from __future__ import annotations

import sys

from demo.organisation import Organisation

NEXT = """\
make run, then open
  http://127.0.0.1:6543/                                        the home page
  http://127.0.0.1:6543/projects/webshop                        keys against environments
  http://127.0.0.1:6543/projects/webshop/environments/production   the editor
  http://127.0.0.1:6543/.devproxy/                              to be somebody else"""


def main() -> None:
    """Says what was done, and what to open."""
    organisation = Organisation(sys.argv[1])
    if organisation.is_there():
        print("The demo is there already; to begin afresh, delete .dev/secretsvc.sqlite first.")
    else:
        organisation.fill()
        print("The demo is ready.")
    print(NEXT)


main()
