"""The version race: whoever loses it to a writer that did not wait is tried once more (specification, 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from secrets_client import Vault, detail, records, state
from sqlalchemy import event, text

pytestmark = pytest.mark.both_engines

# Where the apply begins, and where it inserts what must be unique.
ADVANCE = re.compile(r"UPDATE environment SET .*rev=")
INSERT_SECRET = re.compile("(INSERT INTO|COPY) secret ")
INSERT_VERSION = re.compile("(INSERT INTO|COPY) secret_version ")

BUMP = "UPDATE environment SET rev = rev + 1 WHERE slug = 'prod'"
SAME_KEY = (
    "INSERT INTO secret (environment_id, key, version, deleted, created_at, updated_at)"
    " SELECT id, 'NEW', 1, false, 1, 1 FROM environment WHERE slug = 'prod'"
)
SAME_VERSION = (
    "INSERT INTO secret_version (secret_id, version, rev, created_at)"
    " SELECT id, version + 1, 9, 1 FROM secret WHERE key = 'A'"
)
RACES = [
    pytest.param(ADVANCE, BUMP, id="revision"),
    pytest.param(INSERT_SECRET, SAME_KEY, id="key"),
    pytest.param(INSERT_VERSION, SAME_VERSION, id="version"),
]
both_losses = pytest.mark.parametrize(("moment", "rival"), RACES)


class Rival:
    """A writer that does not wait for the lock: it writes just before a statement of ours, some times."""

    met: ClassVar[list[Rival]] = []

    def __init__(self, service: Any, moment: re.Pattern[str], write: Callable[[Any], None]) -> None:
        self.moment, self.write, self.left, self.wins, self.busy = moment, write, 0, 0, False
        self.engine = service.engine
        event.listen(self.engine, "before_cursor_execute", self._meet)
        self.met.append(self)

    def leave(self) -> None:
        event.remove(self.engine, "before_cursor_execute", self._meet)

    def _meet(self, connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        # What the rival itself executes passes here too.
        if self.busy or not self.left or not self.moment.search(" ".join(statement.split())):
            return
        self.left -= 1
        self.wins += 1
        self.busy = True
        self.write(connection)
        self.busy = False


@pytest.fixture(autouse=True)
def _rivals_leave() -> Iterator[None]:
    """One that met nothing would meet the next test, which has the same application."""
    yield
    while Rival.met:
        Rival.met.pop().leave()


def on_our_connection(statement: str) -> Callable[[Any], None]:
    """The rival's write becomes visible to ours, and goes when ours is undone."""
    return lambda connection: connection.execute(text(statement))


DEV = "/projects/shop/environments/dev"
WRITES = {
    "batch": ({"mode": "merge", "set": {"A": "newer", "NEW": "x"}}, {"A": "newer", "B": "two", "NEW": "x"}),
    "import": (
        {"format": "env", "mode": "replace", "content": "A=newer\nNEW=x"},
        {"A": "newer", "NEW": "x"},
    ),
    "rename": ({"from": "A", "to": "NEW"}, {"B": "two", "NEW": "one"}),
    "rollback": ({"key": "A", "to_version": 1}, {"A": "one", "B": "two"}),
    "copy": (
        {"from": {"project": "shop", "environment": "dev"}, "mode": "replace"},
        {"A": "newer", "NEW": "x"},
    ),
}


@pytest.mark.parametrize("verb", WRITES)
@both_losses
def test_the_loser_of_one_race_is_tried_again_and_succeeds(vault, service, verb, moment, rival):
    vault.set(A="one", B="two")
    Vault(vault.client, DEV).set(A="newer", NEW="x")
    body, values = WRITES[verb]
    met = Rival(service, moment, on_our_connection(rival))
    met.left = 1
    known = len(records(service))
    answer = vault.post(verb, body).json
    # A rollback of a key that lives inserts no secret, so that there is nothing to race for.
    assert met.wins == (0 if verb == "rollback" and moment is INSERT_SECRET else 1)
    assert answer["rev"] == 2
    row, *there = records(service)[known:]
    # An import also tells of values, which the record does not.
    answer.pop("expandable", None)
    assert detail(row) | answer == detail(row)
    assert [one["action"] for one in there] == (["secret.export"] if verb == "copy" else [])
    assert vault.values() == values
    assert vault.rev == 2


@both_losses
def test_a_restore_that_loses_one_race_is_tried_again_and_one_that_loses_two_is_told(
    vault, service, moment, rival
):
    vault.set(A="one", B="two")
    vault.batch(set={"A": "newer"}, delete=["B"])
    met = Rival(service, moment, on_our_connection(rival))
    # A restore gives back what once was there, and so inserts no secret.
    races = moment is not INSERT_SECRET
    before, known = state(service), service.audit()
    met.left = 3
    if races:
        assert vault.post("restore", {"to_rev": 1}, 409).json["code"] == "VERSION_CONFLICT"
        assert (state(service), service.audit()) == (before, known)
    met.wins, met.left = 0, 1
    assert vault.post("restore", {"to_rev": 1}).json["rev"] == 3
    assert met.wins == races
    assert vault.values() == {"A": "one", "B": "two"}


@pytest.mark.parametrize("verb", ["batch", "import", "rename", "copy"])
@both_losses
def test_who_loses_twice_writes_nothing_and_is_told(vault, service, verb, moment, rival):
    vault.set(A="one", B="two")
    Vault(vault.client, DEV).set(A="newer", NEW="x")
    body, _ = WRITES[verb]
    met = Rival(service, moment, on_our_connection(rival))
    met.left = 3
    before, known = state(service), service.audit()
    answer = vault.post(verb, body, 409).json
    assert answer["code"] == "VERSION_CONFLICT"
    assert set(answer) == {"code", "message", "hint", "request_id"}
    assert met.wins == 2
    assert state(service) == before
    assert service.audit() == known
    # Nothing is left behind on the connection: the next write passes.
    met.left = 0
    assert vault.post(verb, body).json["rev"] == 2


def test_a_rollback_that_loses_twice_is_told_too(vault, service):
    vault.set(A="one")
    met = Rival(service, INSERT_VERSION, on_our_connection(SAME_VERSION))
    met.left = 2
    body, _ = WRITES["rollback"]
    assert vault.post("rollback", body, 409).json["code"] == "VERSION_CONFLICT"


def other_connection(service: Any, *statements: str) -> Callable[[Any], None]:
    """The rival commits on a connection of its own, which only PostgreSQL lets it."""

    def write(_connection: Any) -> None:
        with service.engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))

    return write


@pytest.fixture
def _real_rivals(service):
    if service.engine.name == "sqlite":
        pytest.skip("SQLite has one writer at a time, whoever it is")


@pytest.mark.usefixtures("_real_rivals")
def test_the_second_attempt_sees_what_the_rival_committed(vault, service):
    vault.set(A="one", B="two")
    committed = "UPDATE secret SET version = version + 1, deleted = true WHERE key = 'A'"
    met = Rival(service, INSERT_VERSION, other_connection(service, SAME_VERSION, committed))
    met.left = 1
    answer = vault.batch(set={"A": "newer"}).json
    assert answer["changes"] == [{"key": "A", "kind": "added", "version": 3}]
    assert [(one["version"], one["deleted"]) for one in vault.versions("A")] == [
        (3, False),
        (2, True),
        (1, False),
    ]
    assert vault.value("A") == "newer"


@pytest.mark.usefixtures("_real_rivals")
def test_the_second_attempt_is_judged_by_what_the_rival_committed(vault, service):
    """A key that came meanwhile is in a rename's way; a removed one is no more to be renamed."""
    vault.set(A="one")
    gone = "UPDATE secret SET version = version + 1, deleted = true WHERE key = 'A'"
    met = Rival(service, INSERT_VERSION, other_connection(service, SAME_VERSION, gone))
    met.left = 1
    assert vault.rename("A", "NEW", 404).json["code"] == "NOT_FOUND"
    vault.set(A="again")
    met = Rival(service, INSERT_SECRET, other_connection(service, SAME_KEY))
    met.left = 1
    assert vault.rename("A", "NEW", 409).json["code"] == "CONFLICT"


def test_what_is_no_race_is_not_tried_again(vault, service):
    vault.set(A="one")
    attempts = []

    def break_it(connection: Any) -> None:
        attempts.append(1)
        connection.execute(text("SELECT no_such_function()"))

    met = Rival(service, INSERT_VERSION, break_it)
    met.left = 2
    assert vault.batch(500, set={"A": "x"}).json["code"] == "INTERNAL"
    assert len(attempts) == 1
    assert Vault(vault.client).rev == 1
