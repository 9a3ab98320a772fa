"""Forms that change an environment: each is reviewed as a dry run, named key by key, before it is applied."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_urlsafe
from urllib.parse import urlencode

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import PreconditionFailed
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.projects.resources import Environment
from secretsvc.secrets.domain import copies, reads, related
from secretsvc.secrets.domain import editor as editing_domain
from secretsvc.secrets.formats.imports import read_env, read_json
from secretsvc.secrets.queries.plan import ADDED, REMOVED
from secretsvc.secrets.resources import Secret
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.ui.add_elsewhere import chosen_environments, fits, offers, redirect_to_next_review
from secretsvc.secrets.ui.changes import tally
from secretsvc.secrets.ui.drafts import (
    EDIT,
    IMPORT,
    TEXT,
    WRITE,
    Draft,
    import_page,
    load_text,
    text_page,
)
from secretsvc.secrets.ui.editor import TEMPLATE, copy_keys_path, editor, mode_of_reveal, revision_of, show
from secretsvc.secrets.ui.editor_fields import (
    changed_descriptions,
    check_new_keys,
    give_up,
    remove_picked,
    stage,
)
from secretsvc.secrets.ui.line_ends import text_of
from secretsvc.secrets.ui.notices import saved, written_alone
from secretsvc.secrets.ui.review import conflicts, review_rows, with_values
from secretsvc.secrets.write.write import WriteOutcome
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import REFUSALS, PageOptions, redirect_after_form
from secretsvc.web.request import ServiceRequest, View
from secretsvc.web.tree import PAGES, Node

TEMPLATES = "secretsvc.secrets:templates"
#: Bytes of the values that are made at random: 43 characters.
RANDOM_BYTES = 32
#: The button that shows the values of every row of a review.
EVERY = "*"


def edit(context: Node, request: ServiceRequest) -> object:
    """What one of the editor's buttons asks for; the main one leads to the review."""
    form = request.form
    if form["copy-to"]:
        picked = ",".join(key for key, mark in form.under("pick.") if mark)
        return redirect_after_form(f"{copy_keys_path(context)}&{urlencode({'keys': picked})}")
    if form["generate"]:
        form.values[f"new.{form['generate']}.value"] = token_urlsafe(RANDOM_BYTES)
    elif form["stage"]:
        stage_text(context, request)
    else:
        if form["remove"]:
            remove_picked(form)
        drawn = show(context, request)
        if drawn is None:
            return review_draft(EDIT, context, request)
        request.override_renderer = TEMPLATE
        request.view_name = EDIT.tab
        return drawn
    return back_to_edit(EDIT, context, request)


def stage_text(context: Node, request: ServiceRequest) -> None:
    """Makes staged rows of pasted lines. Raises `ValidationFailed` for those that cannot be read."""
    form, limit = request.form, request.call.settings.env_max_secrets
    content = text_of(form, "paste")
    read = read_json if content.lstrip().startswith("{") else read_env
    values = read(content, limit)
    known = {item.key for item in editing_domain.editor_state(request.call, context.address).items}
    stage(form, values, known, replaces=form["mode"] == "replace")


def review_draft(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """What a draft would do, if it were applied at the revision that it was drawn from."""
    form = request.form
    give_up(form)
    rev, asked = revision_of(form), form.values.pop("reveal", "")
    # Before the dry run, which writes nothing: what is shown is recorded.
    old = _old_values(draft, context, request, asked) if asked else {}
    planned = draft.write(request, context.address, form, dry_run=True, expected_rev=rev)
    check_new_keys(form, planned)
    if not (planned.changes or planned.described):
        return redirect_after_form(context.path(PAGES), "unchanged")
    return _reviewed(draft, request, planned) | _rows(draft, context, request, planned, asked, old)


def _old_values(draft: Draft, context: Node, request: ServiceRequest, asked: str) -> dict[str, str]:
    keys = [asked]
    if asked == EVERY:
        planned = draft.write(request, context.address, request.form, dry_run=True)
        keys = [change.key for change in planned.changes if change.kind != ADDED]
    return reads.reveal_secrets(request.call, context.address, "reveal", keys)


def _rows(
    draft: Draft,
    context: Node,
    request: ServiceRequest,
    planned: WriteOutcome,
    asked: str,
    old: dict[str, str],
) -> dict[str, object]:
    form = request.form
    values = draft.values(request, form)
    described = changed_descriptions(form) | {
        form[f"new.{row}.key"].strip(): text
        for row, text in ((name.partition(".")[0], text) for name, text in form.under("new."))
        if form[f"new.{row}.description"].strip()
    }
    added = [change.key for change in planned.changes if change.kind == ADDED]
    missing = related.missing_in(request.call, context.address, added)
    rows = review_rows(planned, values, described, missing, tells_unchanged=draft.by_key)
    if asked:
        new, exact = dict(values), draft.exact_keys(form)
        new |= {key: draft.restore(values[key], old.get(key, "")) for key in values.keys() - {*exact}}
        rows = with_values(rows, lambda key: asked in (EVERY, key), old, new)
    lacking = sorted(missing)
    offered = offers(context, request, missing) if fits(request, draft.carried_fields(form), lacking) else []
    return {"rows": rows, "offers": offered, "lacking": lacking}


def apply_draft(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """Writes a reviewed draft, or nothing where the environment has moved on.

    Where new keys are to be added elsewhere, too, it leads on to the review of that.
    """
    form = request.form
    read = form.read(schemas.ApplyForm(), "rev", "reason")
    expected, reason = read["rev"], read.get("reason")
    written = draft.write(request, context.address, form, expected_rev=expected, reason=reason)
    return (redirect_to_next_review(context, form) if written.changes else None) or _after(context, written)


def _after(context: Node, written: WriteOutcome) -> object:
    changes = len(written.changes) + len(written.described)
    path = context.path(PAGES)
    if not changes:
        return redirect_after_form(path, "unchanged")
    if not isinstance(context, Environment):
        return redirect_after_form(path, "written", written.rev)
    gone = [change.key for change in written.changes if change.kind == REMOVED]
    return redirect_after_form(
        saved(path, written.rev, changes, deleted=gone[0] if gone and changes == 1 else "")
    )


def undo(context: Environment, request: ServiceRequest) -> object:
    """Makes the keys and values again what they were before the present revision."""
    rev = revision_of(request.form) or 0
    written = copies.restore_secrets(
        request.call,
        context.address,
        max(rev - 1, 0),
        expected_rev=rev,
        reason=f"Undo of revision {rev}",
    )
    path = context.path(PAGES)
    if not written.changes:
        return redirect_after_form(path, "unchanged")
    return redirect_after_form(saved(path, written.rev, len(written.changes), undone=rev))


def not_undone(context: Environment, request: ServiceRequest) -> object:
    """The environment as it is now, and why it was not undone, unless it is undone already."""
    form = request.form
    if isinstance(form.error, PreconditionFailed):
        to_rev = max((revision_of(form) or 0) - 1, 0)
        if not copies.restore_secrets(request.call, context.address, to_rev, dry_run=True).changes:
            return redirect_after_form(context.path(PAGES), "unchanged")
    form.values.clear()
    return editor(context, request)


def rerendered(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """After a refusal: own and concurrent changes if the revision is stale, else the draft's page.

    Where only the reason is missing, it is the review, which asks for it.
    """
    form = request.form
    if [issue.path for issue in form.issues] == ["reason"]:
        try:
            form.label("reason", "Reason", "reason")
            return review_draft(draft, context, request)
        except REFUSALS as error:
            form.refuse(error)
    if not isinstance(form.error, PreconditionFailed):
        return back_to_edit(draft, context, request)
    since = revision_of(form) or 0
    rev, concurrent = editing_domain.written_since(request.call, context.address, since)
    try:
        # Against the present state, so that what applying it again would do is known.
        planned = draft.write(request, context.address, form, dry_run=True)
    except REFUSALS as error:
        # It conflicts with the concurrent changes, and can only be typed anew.
        form.refuse(error)
        return back_to_edit(draft, context, request)
    if not (planned.changes or planned.described):
        # All of it is there: it was sent twice, or somebody else wrote the same.
        return redirect_to_next_review(context, form) or redirect_after_form(context.path(PAGES), "unchanged")
    request.override_renderer = f"{TEMPLATES}/conflict.pt"
    told = {"since": since, "rev": rev, "concurrent": concurrent, "rows": conflicts(planned, concurrent)}
    return _reviewed(draft, request, planned) | told


def back_to_edit(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """The draft's page with what was typed."""
    give_up(request.form)
    request.override_renderer = f"{TEMPLATES}/{draft.template}.pt"
    # So that it is known for that page, with its tab.
    request.view_name = draft.tab
    return draft.page(context, request)


def _reviewed(draft: Draft, request: ServiceRequest, planned: WriteOutcome) -> dict[str, object]:
    changes = len(planned.changes) + len(planned.described)
    carried = draft.carried_fields(request.form)
    return {
        "draft": draft,
        "rev": planned.rev,
        "total": changes,
        "carried_fields": carried,
        "tally": tally,
        "also": chosen_environments(request.form),
        "limit": request.call.settings.body_max_bytes,
    }


def _bound(act: Callable[[Draft, Node, ServiceRequest], object], draft: Draft) -> View:
    return lambda context, request: act(draft, context, request)


def includeme(config: ServiceConfigurator) -> None:
    """Declares the pages and the forms; those who only read see neither."""
    role = Role.WRITER
    config.add_page(
        import_page, context=Environment, name="import", template=f"{TEMPLATES}/import.pt", role=role
    )
    text: PageOptions[Environment] = {"context": Environment, "template": f"{TEMPLATES}/text.pt"}
    config.add_page(text_page, name="text", role=role, **text)
    config.add_form(load_text, name="text", role=role, mode=Mode.AUTOCOMMIT, **text)
    config.add_tab("Import", context=Environment, name="import", role=Role.WRITER, order=20)
    config.add_tab("Edit as text", context=Environment, name="text", role=Role.WRITER, order=30)
    config.add_flash_message("written", written_alone)
    acts = {"review": review_draft, "reveal": review_draft, "apply": apply_draft, "back": back_to_edit}
    for draft in (EDIT, IMPORT, TEXT, WRITE):
        node: type[Node] = Secret if draft is WRITE else Environment
        for name, act in acts.items():
            view: View = edit if draft is EDIT and name == "review" else _bound(act, draft)
            rerender, name = _bound(rerendered, draft), f"{draft.name}-{name}"
            template, mode = f"{TEMPLATES}/review.pt", Mode.WRITE if act is apply_draft else mode_of_reveal
            config.add_form(
                view, context=node, name=name, role=role, rerender=rerender, template=template, mode=mode
            )
    config.add_form(undo, context=Environment, name="undo", role=role, rerender=not_undone, template=TEMPLATE)
