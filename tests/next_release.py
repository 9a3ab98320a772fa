"""The release after this one: a copy of the source with one more migration, under a later number."""

from __future__ import annotations

from pathlib import Path

from processes import Deployment, ServiceProcess
from wheels import copy_source

from secretsvc.db.schema import REVISION

NUMBER = f"{int(REVISION) + 1:04}"
VERSION = "99.0.0"
#: Adds, as most migrations do: a column and a table that older code knows nothing of.
EXPANDS = """
def upgrade():
    op.add_column("secret", sa.Column("colour", sa.String(20), server_default="grey", nullable=False))
    op.create_table("shelf", sa.Column("id", sa.Uuid(), primary_key=True), sa.Column("name", sa.Text()))
"""
#: Takes something away that this code can do without, and says that older code cannot.
CONTRACTS = f"""
oldest_release = "{VERSION}"


def upgrade():
    op.drop_index("ix_idempotent_write_created_at", "idempotent_write")
"""


class NextRelease:
    """Its source in a folder; processes of it are started from there."""

    def __init__(self, folder: Path, upgrade: str) -> None:
        self.source = copy_source(folder)
        (self.source / "alembic" / "versions" / f"{NUMBER}_next.py").write_text(
            f'"""What the next release needs."""\n\nimport sqlalchemy as sa\nfrom alembic import op\n\n'
            f'revision = "{NUMBER}"\ndown_revision = "{REVISION}"\n{upgrade}'
        )
        self._rewrite("secretsvc/db/schema.py", f'REVISION = "{REVISION}"', f'REVISION = "{NUMBER}"')
        self._rewrite("secretsvc/kernel/release.py", 'version("secretsvc")', f'"{VERSION}"')

    def _rewrite(self, name: str, old: str, new: str) -> None:
        text = (self.source / name).read_text()
        assert old in text
        (self.source / name).write_text(text.replace(old, new))

    def process(self, deployment: Deployment, **settings: str) -> ServiceProcess:
        """One of it, not started yet, as part of a deployment."""
        directory = deployment.directory / f"process-{len(deployment.processes)}"
        made = ServiceProcess(directory, {**deployment.settings, **settings})
        # Python looks into the folder that a module is started in before all others.
        (directory / "secretsvc").symlink_to(self.source / "secretsvc")
        deployment.processes.append(made)
        return made
