"""Every use case that takes a slug, with arguments by which it succeeds for an administrator."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import secretsvc
from secretsvc.access.domain import (
    denial_explanation,
    grants,
    named_grants,
    overview,
    readers,
    unknown_identities,
)
from secretsvc.access.rules.grants import Terms
from secretsvc.access.rules.holders import FoundHolder
from secretsvc.auditlog import domain as auditlog
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.groups import domain as groups
from secretsvc.home.domain import page_search
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects import domain as projects
from secretsvc.secrets.domain import (
    copies,
    editor,
    exports,
    history,
    key_history,
    matrix,
    project_wide,
    reads,
    related,
    revision_page,
    sidebar_project,
    writes,
)
from secretsvc.secrets.formats.exports import encode_json
from secretsvc.secrets.formats.imports import read_env

PACKAGE = Path(secretsvc.__file__).parent
SLUGS = {"project", "environment"}


class Scene(NamedTuple):
    """A call with the addresses that its caller gives, and somebody who can be granted something.

    `other` is an environment of another project, which the caller may write to.
    """

    call: UseCaseContext
    project: ScopePath
    environment: ScopePath
    other: ScopePath
    holder: FoundHolder
    group_id: Any


Use = Callable[[Scene], Any]


def at_project(use: Callable[..., Any], *arguments: Any, **named: Any) -> Use:
    return lambda scene: use(scene.call, scene.project, *arguments, **named)


def at_environment(use: Callable[..., Any], *arguments: Any, **named: Any) -> Use:
    return lambda scene: use(scene.call, scene.environment, *arguments, **named)


def from_other(use: Callable[..., Any], arguments: Callable[[ScopePath], dict[str, Any]]) -> Use:
    """At the other environment, with the environment of the slug as an argument."""
    return lambda scene: use(scene.call, scene.other, **arguments(scene.environment))


def with_history(use: Callable[..., Any]) -> Use:
    def run(scene: Scene) -> Any:
        return use(
            scene.call, scene.environment, key_history.key_history(scene.call, scene.environment, "KEY")
        )

    return run


def filtered(use: Callable[..., Any], *names: str) -> Use:
    return lambda scene: use(
        scene.call, AuditFilter(**{name: getattr(scene.environment, name) for name in names})
    )


def granting(use: Callable[..., Any], role: Role, holder: Callable[[Scene], Any], scope: str) -> Use:
    return lambda scene: use(scene.call, holder(scene), Terms(getattr(scene, scope), role))


def found(scene: Scene, **narrowing: str | None) -> Any:
    return page_search.find_scopes(scene.call, "", 100, page_search.Narrowing(**narrowing))


def revs_of(run: Callable[..., Any]) -> Use:
    """One that takes the revisions that a page showed."""

    def use(scene: Scene) -> Any:
        held = project_wide.environments_with_key(scene.call, scene.project, "KEY")
        revs = {one.environment.slug: one.environment.rev for one in held}
        return run(scene.call, scene.project, revs or {"prod": 3})

    return use


WHY = {"reason": "why"}
RENAMING = {"source": "KEY", "target": "RENAMED"}
_SCOPES = ("project", "environment")
_ASKED = (("project",), ("project", "environment"), ("environment",))
_OF_BOTH = {
    denial_explanation.explain_refusal: (Role.ADMIN,),
    unknown_identities.turned_away_from: (),
    overview.access_to: (),
    readers.readers: (),
    sidebar_project.find_sidebar_project: (),
}
_OF_THE_LOG = (
    auditlog.read_audit,
    auditlog.read_sealed,
    auditlog.export_audit,
    auditlog.browse_audit,
    auditlog.recent_audit,
)
_GRANTING = (
    (grants.grant_to_identity, Role.WRITER, lambda scene: scene.holder.id),
    (groups.grant_to_group, Role.WRITER, lambda scene: scene.group_id),
    (named_grants.grant_to, Role.WRITER, lambda scene: scene.holder),
    (named_grants.same_grant, Role.READER, lambda scene: scene.holder),
)

USES: dict[Callable[..., Any], list[Use]] = {
    **{use: [at_project(use, *rest), at_environment(use, *rest)] for use, rest in _OF_BOTH.items()},
    **{use: [filtered(use, *names) for names in _ASKED] for use in _OF_THE_LOG},
    **{use: [granting(use, *rest, scope) for scope in _SCOPES] for use, *rest in _GRANTING},
    projects.get_project: [at_project(projects.get_project)],
    projects.update_project: [at_project(projects.update_project, {"name": "Taken over"})],
    projects.delete_project: [at_project(projects.delete_project)],
    projects.list_environments: [at_project(projects.list_environments)],
    projects.create_environment: [at_project(projects.create_environment, slug="made", name="Made")],
    projects.get_environment: [at_environment(projects.get_environment)],
    projects.update_environment: [at_environment(projects.update_environment, {"name": "Taken over"})],
    projects.delete_environment: [at_environment(projects.delete_environment)],
    page_search.find_scopes: [
        lambda scene: found(scene, project=scene.environment.project),
        lambda scene: found(scene, environment=scene.environment.environment),
    ],
    exports.export_secrets: [
        at_environment(exports.export_secrets, "why"),
        at_environment(exports.export_secrets, "why", 1),
    ],
    exports.export_file: [at_environment(exports.export_file, encode_json, "why")],
    writes.missing_reason: [at_environment(writes.missing_reason, None)],
    writes.batch_secrets: [
        at_environment(writes.batch_secrets, mode="merge", set={"KEY": "x"}, **WHY),
        at_environment(writes.batch_secrets, mode="replace", set={"KEY": "x"}, dry_run=True, **WHY),
    ],
    writes.import_secrets: [
        at_environment(writes.import_secrets, read=read_env, content="KEY=x", mode="merge", **WHY)
    ],
    writes.rename_secret: [at_environment(writes.rename_secret, **RENAMING, **WHY)],
    writes.rollback_secret: [at_environment(writes.rollback_secret, "KEY", 1, **WHY)],
    history.reveal_version: [at_environment(history.reveal_version, "KEY", 1, **WHY)],
    history.list_revisions: [at_environment(history.list_revisions, 10)],
    history.deleted_keys: [at_environment(history.deleted_keys, 10)],
    copies.compare_secrets: [
        at_environment(copies.compare_secrets, with_rev=1),
        from_other(copies.compare_secrets, lambda at: {"project": at.project, "environment": at.environment}),
    ],
    copies.copy_secrets: [
        at_environment(copies.copy_secrets, source=ScopePath("depot", "prod"), **WHY),
        from_other(copies.copy_secrets, lambda at: {"source": at, **WHY}),
    ],
    copies.absent_keys: [
        lambda scene: {"HEIR_KEY"} - {*copies.absent_keys(scene.call, scene.environment, ["HEIR_KEY"])}
    ],
    copies.restore_secrets: [at_environment(copies.restore_secrets, 1, **WHY)],
    revision_page.revision_page: [at_environment(revision_page.revision_page)],
    revision_page.deleted_key_page: [at_environment(revision_page.deleted_key_page)],
    editor.edit_secrets: [at_environment(editor.edit_secrets, editor.Edits({"KEY": "x"}, {}, ()), **WHY)],
    editor.rewrite: [at_environment(editor.rewrite, "KEY=x", **WHY)],
    editor.editor_state: [at_environment(editor.editor_state)],
    editor.written_since: [at_environment(editor.written_since, 0)],
    reads.revision_if_known: [at_environment(reads.revision_if_known, lambda rev: True)],
    reads.list_secrets: [at_environment(reads.list_secrets), at_environment(reads.list_secrets, 1)],
    reads.reveal_secret: [at_environment(reads.reveal_secret, "KEY", **WHY)],
    reads.reveal_secrets: [at_environment(reads.reveal_secrets, "why")],
    reads.secret_versions: [at_environment(reads.secret_versions, "KEY")],
    matrix.key_matrix: [at_project(matrix.key_matrix)],
    matrix.compared_matrix: [
        at_project(matrix.compared_matrix, here="dev", there="prod"),
        at_project(matrix.compared_matrix, here="prod", there=None),
    ],
    project_wide.environments_with_key: [at_project(project_wide.environments_with_key, "KEY")],
    project_wide.rename_everywhere: [
        revs_of(partial(project_wide.rename_everywhere, **RENAMING, **WHY)),
        at_project(project_wide.rename_everywhere, {"prod": 3}, **RENAMING, **WHY),
    ],
    project_wide.delete_everywhere: [
        revs_of(lambda call, at, revs: project_wide.delete_everywhere(call, at, "KEY", revs, "why")),
        at_project(project_wide.delete_everywhere, "KEY", {"prod": 3}, "why"),
    ],
    related.same_key_elsewhere: [with_history(related.same_key_elsewhere)],
    related.missing_in: [at_environment(related.missing_in, ["NOWHERE"])],
    related.recent_readers: [with_history(related.recent_readers)],
    key_history.key_history: [at_environment(key_history.key_history, "KEY")],
}


def use_cases_by_slug() -> set[Callable[..., Any]]:
    """The public functions of all `domain` modules that take the slug of something that exists."""
    found = set()
    for path in (*PACKAGE.glob("*/domain.py"), *PACKAGE.glob("*/domain/*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == name and _takes_slug(function):
                found.add(function)
    return found


def _takes_slug(function: Callable[..., Any]) -> bool:
    if function.__name__.startswith("_"):
        return False
    hints = {name: hint for name, hint in typing.get_type_hints(function).items() if name != "return"}
    return bool(SLUGS & hints.keys()) or any(map(_holds_slug, hints.values()))


def _holds_slug(hint: Any) -> bool:
    if hint is UseCaseContext:
        return False
    if hint is ScopePath or any(map(_holds_slug, typing.get_args(hint))):
        return True
    if not is_dataclass(hint):
        return False
    inner = typing.get_type_hints(hint)
    return any(one.name in SLUGS or _holds_slug(inner[one.name]) for one in fields(hint))
