"""Selected keys go from one environment to another, after a review of what that would do there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.errors import PreconditionFailed, ValidationFailed
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.projects.domain import get_environment
from secretsvc.projects.resources import Environment, Project
from secretsvc.secrets.domain import copies as domain
from secretsvc.secrets.domain.editor import Authored, written_since
from secretsvc.secrets.queries.plan import CHANGED
from secretsvc.secrets.schemas import history as schemas
from secretsvc.secrets.ui.add_elsewhere import chosen_environments, redirect_to_next_review
from secretsvc.secrets.ui.changes import change_rows, tally
from secretsvc.secrets.ui.matrix import matrix
from secretsvc.secrets.ui.selection import SELECT_ONE, compare_path, ticked
from secretsvc.secrets.write.copy_plan import SKIP
from secretsvc.secrets.write.write import WriteOutcome
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, redirect_after_form
from secretsvc.web.pages.layout import PageLayout
from secretsvc.web.request import ServiceRequest
from secretsvc.web.responses import RelativeResponse
from secretsvc.web.tree import PAGES
from secretsvc.web.views import VISIBLE

SAME_ENVIRONMENT = "Choose another environment than the one you copy from."
#: After a copy the URL tells the number of keys, the source's slug, and the revision.
DETAILS = 3
_NUMBER = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a form asks to copy; `rev` is the revision of the destination that was reviewed, if one was."""

    source: ScopePath
    keys: list[str]
    existing: str
    from_rev: int | None
    rev: int | None


def choose(context: Project, request: ServiceRequest) -> object:
    """Sends the form on to the destination that it names, whose review it is."""
    form, keys = request.form, ticked(request.form)
    form.label("to", "To")
    form.label("keys", "Keys", "main")
    read = form.read(schemas.DestinationForm(), "from", "to")
    if not keys:
        raise ValidationFailed.at("keys", SELECT_ONE)
    if read["from"] == read["to"]:
        raise ValidationFailed.at("to", SAME_ENVIRONMENT)
    # With the body: whatever was ticked, no address could hold it.
    path = f"{context.path(PAGES)}/environments/{read['to']}/copy-review"
    return RelativeResponse(status=307, location=path)


def review_copy(context: Environment, request: ServiceRequest) -> object:
    """What copying would do to this environment, at the present revisions of both."""
    asked = replace(_asked(context, request), rev=None, from_rev=None)
    reviewed = _reviewed(context, request, asked)
    # An environment that has everything by now is no reason to forget those that follow.
    return (None if reviewed["rows"] else redirect_to_next_review(context, request.form)) or reviewed


def apply_copy(context: Environment, request: ServiceRequest) -> object:
    """Copies as it was reviewed, or nothing where this environment has moved on."""
    asked = _asked(context, request)
    written = domain.copy_secrets(
        request.call,
        context.address,
        source=asked.source,
        keys=asked.keys,
        existing=asked.existing,
        from_rev=asked.from_rev,
        expected_rev=asked.rev,
        reason=request.form.read(schemas.ReasonForm(), "reason").get("reason"),
    )
    onwards = redirect_to_next_review(context, request.form)
    if onwards or not written.changes:
        return onwards or redirect_after_form(context.path(PAGES), "unchanged")
    count, source = len(written.changes), asked.source.environment
    return redirect_after_form(context.path(PAGES), "copied", count, source, written.rev)


def rerendered(context: Environment, request: ServiceRequest) -> object:
    """After a refusal: the review again, of the present state, with the selection and the reason.

    Where all of it is there, because it was sent twice or somebody else wrote the same, it leads on.
    """
    asked, late = _asked(context, request), None
    if isinstance(request.form.error, PreconditionFailed):
        _, late = written_since(request.call, context.address, asked.rev or 0)
        asked = replace(asked, from_rev=None)
    reviewed = _reviewed(context, request, asked, late)
    if reviewed["rows"] or reviewed["left_out"]:
        return reviewed
    return redirect_to_next_review(context, request.form) or redirect_after_form(
        context.path(PAGES), "unchanged"
    )


def copied(ui: PageLayout, details: Sequence[str]) -> str | None:
    """What the destination's page says afterwards; the details are those that `apply_copy` leads on with."""
    within, numbers = ui.sidebar_project, details[::2]
    if within is None or len(details) != DETAILS or not all(map(_NUMBER.fullmatch, numbers)):
        return None
    there, here = within.environment(details[1]), within.environment(ui.environment_slug)
    if there is None or here is None:
        return None
    count, rev = map(int, numbers)
    return f"Copied {ui.count(count, 'key')} from {there.name} to {here.name} (revision {rev:,})."


def _asked(context: Environment, request: ServiceRequest) -> Asked:
    """Raises `ValidationFailed`."""
    form, keys = request.form, ticked(request.form)
    read = form.read(schemas.CopyForm(), "from", "existing", "from_rev", "rev")
    if not keys:
        raise ValidationFailed.at("keys", SELECT_ONE)
    source = ScopePath(context.address.project, read["from"])
    if source == context.address:
        raise ValidationFailed.at("from", SAME_ENVIRONMENT)
    return Asked(source, keys, read["existing"], read["from_rev"], read["rev"])


def _reviewed(
    context: Environment, request: ServiceRequest, asked: Asked, late: Sequence[Authored] | None = None
) -> dict[str, object]:
    source = get_environment(request.call, asked.source)
    asked = replace(asked, from_rev=source.rev if asked.from_rev is None else asked.from_rev)
    planned, left_out = _planned(context, request, asked)
    theirs = {one.key: one.author for one in late or ()}
    rows = [
        replace(row, note=f"Written by {theirs[row.key]} meanwhile") if row.key in theirs else row
        for row in change_rows(planned)
    ]
    taken = [key for key in asked.keys if key not in left_out]
    project = next(node for node in context.lineage() if isinstance(node, Project))
    sides = {"from": source.slug, "to": context.__name__}
    return {
        "source": source,
        "asked": asked,
        "rev": planned.rev,
        "rows": rows,
        "tally": tally(rows),
        "taken": taken,
        "staying": sorted({*taken} - {row.key for row in rows}),
        "left_out": left_out,
        "replaces": sum(row.kind == CHANGED for row in rows),
        "skips": asked.existing == SKIP,
        "by": _told(theirs.values()) if late is not None else "",
        "also": chosen_environments(request.form),
        "back": compare_path(project.path(PAGES), taken, **sides),
    }


def _told(subjects: Iterable[str]) -> str:
    """Who changed the environment meanwhile."""
    (first, *others) = sorted(set(subjects)) or ["Somebody"]
    return f"{len(others) + 1} people" if others else first


def _planned(context: Environment, request: ServiceRequest, asked: Asked) -> tuple[WriteOutcome, list[str]]:
    """The dry run, and the keys that are left out because the source lacks them."""

    def planned(keys: Sequence[str]) -> WriteOutcome:
        return domain.copy_secrets(
            request.call,
            context.address,
            source=asked.source,
            keys=keys,
            existing=asked.existing,
            from_rev=asked.from_rev,
            dry_run=True,
        )

    try:
        return planned(asked.keys), []
    except ValidationFailed:
        absent = domain.absent_keys(request.call, asked.source, asked.keys, asked.from_rev)
    if rest := sorted({*asked.keys} - {*absent}):
        return planned(rest), absent
    return WriteOutcome(get_environment(request.call, context.address).rev, []), absent


def includeme(config: ServiceConfigurator) -> None:
    config.add_flash_message("copied", copied)
    page: PageOptions[Project] = {"context": Project, "template": "secretsvc.secrets:templates/matrix.pt"}
    config.add_form(choose, name="copy", role=VISIBLE, rerender=matrix, **page)
    reviewed: PageOptions[Environment] = {
        "context": Environment,
        "template": "secretsvc.secrets:templates/copy.pt",
    }
    config.add_form(review_copy, name="copy-review", role=Role.WRITER, mode=Mode.SNAPSHOT, **reviewed)
    config.add_form(apply_copy, name="copy-apply", role=Role.WRITER, rerender=rerendered, **reviewed)
