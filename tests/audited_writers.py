"""Writers that change all that the log explains, as the service lets them."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from resource_fields import log
from secrets_client import Vault
from service import Client, Service

from secretsvc.db.engine import snapshot
from secretsvc.sealedlog.models import audit_signer
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.verification.verify import verify_database
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.signed_note import Verifier


class Writer:
    """Changes one thing after the other, through the API, in a project of its own."""

    def __init__(self, admin: Client, name: str) -> None:
        self._admin, self._random = admin, random.Random(name)  # noqa: S311
        self._project = name
        admin.post("/projects", {"slug": name, "name": name}, 201)
        admin.post(f"/projects/{name}/environments", {"slug": "prod", "name": "Prod"}, 201)
        self._vault = Vault(admin, f"/projects/{name}/environments/prod")
        person = {"kind": "user", "subject": f"{name}@example.com"}
        self._person = admin.post("/identities", person, 201).json["id"]
        self._group = admin.post("/groups", {"slug": name, "name": name}, 201).json["id"]
        self._admin.post(f"/projects/{name}/environments", {"slug": "dev", "name": "Dev"}, 201)
        self._dev = Vault(admin, f"/projects/{name}/environments/dev")
        self._is_member = self._is_disabled = self._is_protected = False
        self._grant: str | None = None

    def __iter__(self) -> Iterator[None]:
        """Each step is a change; it never ends."""
        kinds: list[Callable[[], Any]] = [
            self._set, self._set, self._describe, self._remove, self._restore, self._rename, self._roll_back,
            self._load, self._copy, self._copy_back, self._remake, self._give, self._join, self._disable,
            self._protect,
        ]  # fmt: skip
        while True:
            self._random.choice(kinds)()
            yield

    def _key(self) -> str:
        return f"K{self._random.randrange(20)}"

    def _set(self) -> None:
        self._vault.batch(set={self._key(): "x", self._key(): "y"}, reason="set")

    def _describe(self) -> None:
        key, text = self._key(), self._random.choice([None, "one", "another"])
        self._vault.batch(set={key: "x"}, descriptions={key: text}, reason="describe")

    def _remove(self) -> None:
        self._vault.batch(delete=[self._key(), self._key()], reason="remove")

    def _restore(self) -> None:
        self._vault.post("restore", {"to_rev": self._vault.rev // 2, "reason": "restore"})

    def _rename(self) -> None:
        source, target = self._random.sample([*self._present(), "K100", "K101"], 2)
        self._vault.post("rename", {"from": source, "to": target, "reason": "rename"}, "*")

    def _roll_back(self) -> None:
        key = self._key()
        self._vault.post("rollback", {"key": key, "to_version": 1, "reason": "roll back"}, "*")

    def _load(self) -> None:
        mode = self._random.choice(["merge", "replace"])
        self._vault.load(f"{self._key()}=z\nL=z", mode=mode, reason="load")

    def _copy(self) -> None:
        source = {"project": self._project, "environment": "prod"}
        self._dev.post("copy", {"from": source, "mode": self._random.choice(["merge", "replace"])})

    def _copy_back(self) -> None:
        source = {"project": self._project, "environment": "dev"}
        self._vault.post("copy", {"from": source, "reason": "copy back"})
        older = {"project": self._project, "environment": "prod"}
        rev = self._vault.rev // 2
        self._vault.post("copy", {"from": older, "from_rev": rev, "reason": "copy an older one"})

    def _remake(self) -> None:
        self._admin.delete(f"/projects/{self._project}/environments/dev")
        self._admin.post(f"/projects/{self._project}/environments", {"slug": "dev", "name": "Dev"}, 201)
        self._dev.set(K1="made anew")

    def _present(self) -> list[str]:
        return sorted(self._vault.listed())

    def _give(self) -> None:
        if self._grant is None:
            scope = {"scope_type": "project", "project": self._project, "identity_id": self._person}
            self._grant = self._admin.post("/grants", {**scope, "role": "reader"}, 201).json["id"]
            self._admin.patch(f"/grants/{self._grant}", {"role": "writer"})
        else:
            self._admin.delete(f"/grants/{self._grant}")
            self._grant = None

    def _join(self) -> None:
        members = f"/groups/{self._group}/members"
        if self._is_member:
            self._admin.delete(f"{members}/{self._person}")
        else:
            self._admin.post(members, {"identity_id": self._person}, 201)
        self._is_member = not self._is_member

    def _disable(self) -> None:
        self._is_disabled = not self._is_disabled
        self._admin.patch(f"/identities/{self._person}", {"disabled": self._is_disabled})

    def _protect(self) -> None:
        self._is_protected = not self._is_protected
        body = {"protected": self._is_protected}
        self._admin.patch(f"/projects/{self._project}/environments/prod", body)


@contextmanager
def writing(service: Service, count: int) -> Iterator[list[int]]:
    """So many writers, and the sealer beside them; how many changes they have made."""
    end, made, failed = threading.Event(), [0] * count, []

    def until_the_end(act: Callable[[], object]) -> None:
        try:
            while not end.is_set():
                act()
        except BaseException as error:
            failed.append(error)
            raise

    def write(number: int, steps: Iterator[None]) -> None:
        next(steps)
        made[number] += 1

    def seal() -> None:
        if not service.app.registry.audit_sealer.step():
            end.wait(0.01)

    writers = [iter(Writer(service.user(), f"writer-{number}")) for number in range(count)]
    acts = [seal, *(lambda n=n, steps=steps: write(n, steps) for n, steps in enumerate(writers))]
    threads = [threading.Thread(target=until_the_end, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert failed == []


def fill(service: Service, changes: int, reads: int) -> None:
    """So many changes by a writer, and so many reads by others, sealed."""
    for _ in islice(Writer(service.user(), "first"), changes):
        pass
    said = json.dumps({"key": "K1", "version": 1})
    log(service, reads, action="secret.reveal", reason="reveal", detail=said, key="K1", given=1)
    while service.app.registry.audit_sealer.step():
        pass


def verified(service: Service, files: Files | None = None) -> list[str]:
    """What a verification says, in one state of the database, perhaps with an export."""
    [signer] = service.rows(audit_signer)
    with snapshot(service.engine) as connection:
        signers = Signers(Verifier("secretsvc", signer["public_key"]))
        return [*verify_database(connection, signers, [], files, service.app.registry.load_ring())]
