"""Which schemas a process serves: its own, and newer ones that name its release or an older one."""

from __future__ import annotations

import logging

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from secrets_client import Vault
from service import arrange
from sqlalchemy import text

from secretsvc.db.migrations import oldest_release
from secretsvc.db.schema import REVISION, SchemaRelease, newer_served, recorded, serves
from secretsvc.kernel.release import VERSION

pytestmark = pytest.mark.both_engines

NEXT = f"{int(REVISION) + 1:04}"


@pytest.mark.parametrize(
    ("revision", "oldest", "is_served"),
    [
        ("0010", "0.1.0", True),
        ("0010", "9.0.0", True),
        ("0011", "0.1.0", True),
        ("0011", "0.2.0", True),
        ("0011", "0.2.1", False),
        ("0011", "0.10.0", False),
        ("0011", "1.0.0", False),
        ("0009", "0.1.0", False),
        ("ours", "0.1.0", False),
    ],
)
def test_a_process_serves_its_own_schema_and_newer_ones_that_allow_its_release(revision, oldest, is_served):
    assert serves(SchemaRelease(revision, oldest), "0010", "0.2.0") is is_served


def test_a_candidate_counts_as_its_release():
    assert serves(SchemaRelease("0011", "0.2.0"), "0010", "0.2.0rc1")
    assert not serves(None)


def test_what_is_recorded_of_another_revision_allows_nothing():
    assert newer_served([NEXT], SchemaRelease(NEXT, VERSION)) == {NEXT}
    assert newer_served([NEXT], SchemaRelease(REVISION, VERSION)) == frozenset()
    assert newer_served([NEXT], None) == frozenset()
    assert newer_served([REVISION], SchemaRelease(REVISION, VERSION)) == frozenset()


def test_a_migrated_database_has_it_recorded(service):
    with service.engine.connect() as connection:
        assert recorded(connection) == SchemaRelease(REVISION, "0.1.0")


@pytest.fixture
def service(make_service):
    """One that has not complained before."""
    return make_service(RATE_LIMIT="1000000/minute")


@pytest.fixture
def record(service):
    """Writes down another one, and takes it back."""

    def write(revision, oldest):
        values = {"revision": revision, "oldest": oldest}
        service.execute(
            text("UPDATE schema_release SET revision = :revision, oldest_release = :oldest"), values
        )

    yield write
    write(REVISION, "0.1.0")


@pytest.mark.slow
def test_over_a_schema_for_later_releases_every_operation_is_refused_from_the_next_request(
    service, record, caplog
):
    prod = Vault(arrange(service, "shop", "prod"))
    prod.set(A="1")
    record(NEXT, "99.0.0")
    with caplog.at_level(logging.ERROR):
        for answer in (
            prod.client.get("/whoami", 500),
            prod.batch(500, set={"A": "2"}),
            prod.get("secrets/A", 500),
            service.user("new@example.com").get("/whoami", 500),
        ):
            assert answer.json["code"] == "SERVER_MISCONFIGURED"
    assert caplog.text.count("the schema of the database is not one that this release may serve") == 1
    record(NEXT, VERSION)
    prod.set(A="3")
    record(REVISION, VERSION)
    assert prod.values() == {"A": "3"}


@pytest.mark.slow
@pytest.mark.parametrize("table", ["schema_release", "identity", "secret"])
def test_without_a_table_of_ours_it_is_misconfigured(service, table):
    prod = Vault(arrange(service, "shop", "prod"))
    prod.set(A="1")
    service.execute(text(f"ALTER TABLE {table} RENAME TO gone"))
    try:
        assert prod.get("secrets", 500).json["code"] == "SERVER_MISCONFIGURED"
    finally:
        service.execute(text(f"ALTER TABLE gone RENAME TO {table}"))


def test_a_migration_that_names_no_release_raises_none(here, tmp_path):
    folder = tmp_path / "alembic"
    (folder / "versions").mkdir(parents=True)
    (folder / "env.py").touch()
    for number, named in ((1, None), (2, "0.1.0"), (3, None), (4, "0.3.0"), (5, None)):
        before = f'"{number - 1:04}"' if number > 1 else None
        lines = [f'revision = "{number:04}"', f"down_revision = {before}"]
        lines += [f'oldest_release = "{named}"'] if named else []
        (folder / "versions" / f"{number:04}.py").write_text("\n".join(lines))
    config = Config()
    config.set_main_option("script_location", str(folder))
    script = ScriptDirectory.from_config(config)
    found = [oldest_release(script, f"{number:04}") for number in range(1, 6)]
    assert found == [None, "0.1.0", "0.1.0", "0.3.0", "0.3.0"]


def test_the_schema_of_the_code_is_served_by_its_own_release(here):
    script = ScriptDirectory.from_config(Config(here / "production.ini"))
    oldest = oldest_release(script, REVISION)
    assert oldest is not None
    assert serves(SchemaRelease(NEXT, oldest))
