"""The page of one secret: its versions, who can read it, and what can be done with it."""

from __future__ import annotations

from secretsvc.access.domain.readers import readers
from secretsvc.kernel.authorization import Role, decide
from secretsvc.kernel.errors import PreconditionFailed
from secretsvc.secrets.domain import editing as editing_domain
from secretsvc.secrets.domain import reading, writing
from secretsvc.secrets.resources import Secret
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.ui.editor import environment_of, revision_of
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import Drawn, see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES

#: After so many seconds a page that shows a value gives way to one that does not.
SHOWN_SECONDS = 30


def secret(context: Secret, request: ServiceRequest) -> object:
    """A secret's versions, what can be done with it, and, for administrators, who can read it."""
    call, at, form = request.call, context.address, request.form
    history = editing_domain.key_history(call, at, context.__name__)
    who = readers(call, at) if decide(call.snapshot, at) is Role.ADMIN else None
    # What was typed still belongs to the revision that it was typed at, unless this page says what is new.
    told = isinstance(form.error, PreconditionFailed)
    rev = history.rev if told else form.values.get("rev", history.rev)
    return {"history": history, "rev": rev, "readers": who}


def reveal(context: Secret, request: ServiceRequest) -> object:
    """The value on a page of its own, for a while: nothing can be typed there that would go with it."""
    read = schemas.RevealQuery()
    reason = request.form.read(read, "reason")["reason"]
    shown = reading.reveal_secret(request.call, context.address, context.__name__, reason)
    request.response.headers["Refresh"] = f"{SHOWN_SECONDS};url={context.path(PAGES)}"
    return {"shown": shown, "seconds": SHOWN_SECONDS}


def rename(context: Secret, request: ServiceRequest) -> object:
    """Moves the secret to another key and leads on to it."""
    form = request.form
    body = form.read(schemas.RenameBody(), "to", "reason", **{"from": context.__name__})
    source, target, reason = body["from"], body["to"], body.get("reason")
    writing.rename_secret(
        request.call, context.address, source, target, reason, expected_rev=revision_of(form)
    )
    return see_other(f"{environment_of(context).path(PAGES)}/secrets/{target}", "renamed")


def rollback(context: Secret, request: ServiceRequest) -> object:
    """Writes an older version again."""
    form = request.form
    body = form.read(schemas.RollbackForm(), "to_version", "reason", key=context.__name__)
    writing.rollback_secret(request.call, context.address, **body, expected_rev=revision_of(form))
    return see_other(context.path(PAGES), "rolled-back")


def delete(context: Secret, request: ServiceRequest) -> object:
    """Leaves a tombstone, and leads back to the environment."""
    gone, read = [context.__name__], request.form.read(schemas.ApplyForm(), "rev", "reason")
    rev, reason = read["rev"], read.get("reason")
    writing.batch_secrets(
        request.call, context.address, mode="merge", delete=gone, expected_rev=rev, reason=reason
    )
    return see_other(environment_of(context).path(PAGES), "deleted")


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page and its forms."""
    templates = "secretsvc.secrets:templates"
    config.add_done("renamed", "Renamed.")
    config.add_done("rolled-back", "Written again as a new version.")
    page: Drawn[Secret] = {"context": Secret, "template": f"{templates}/secret.pt"}
    config.add_page(secret, role=Role.READER, **page)
    revealed = f"{templates}/revealed.pt"
    config.add_form(reveal, name="reveal", role=Role.READER, context=Secret, template=revealed)
    for name, form in (("rename", rename), ("rollback", rollback), ("delete", delete)):
        config.add_form(form, name=name, role=Role.WRITER, redraw=secret, **page)
