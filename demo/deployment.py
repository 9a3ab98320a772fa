"""The demo in a database of its own, for pictures and for tests of the pages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from alembic.config import Config

from alembic import command
from demo.caller import Caller
from demo.organisation import Organisation
from demo.people import ADMIN
from secretsvc.kernel.crypto import generate_master_key

ROOT = Path(__file__).parent.parent


def demo_in(directory: Path) -> Any:
    """The application of a copy of development.ini, with the demo in its database."""
    ini = Path(shutil.copy(ROOT / "development.ini", directory))
    (directory / "alembic").symlink_to(ROOT / "alembic")
    (directory / ".dev").mkdir()
    os.environ.setdefault("MASTER_KEY", generate_master_key())
    command.upgrade(Config(ini), "head")
    organisation = Organisation(str(ini))
    organisation.fill()
    return organisation.app


def people(app: Any) -> dict[str, str]:
    """The ids of identities by the first part of what they are known by: `wendy`, `ci-runner`."""
    found = Caller(app, ADMIN).get("/identities?limit=100")["items"]
    return {one["subject"].partition("@")[0].partition(".")[0]: one["id"] for one in found}
