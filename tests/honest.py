"""Writers that change all that the log explains, as the service lets them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from service import Client
from vault import Vault


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
        self._is_member = self._is_disabled = self._is_protected = False
        self._grant: str | None = None

    def __iter__(self) -> Iterator[None]:
        """Each step is a change; it never ends."""
        kinds: list[Callable[[], Any]] = [
            self._set, self._set, self._describe, self._remove, self._restore, self._give, self._join,
            self._disable, self._protect,
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
