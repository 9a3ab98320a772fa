"""The address below an environment, two operations, a page with its form, and a tab that leads there."""

from dataclasses import dataclass
from uuid import UUID

from acme_notes import domain
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.schema_annotations import Items, Time
from secretsvc.projects.resources import Environment
from secretsvc.web.pages.directives import redirect_after_form
from secretsvc.web.schema import Body, Text, required
from secretsvc.web.tree import PAGES, Node


class Notes(Node):
    """`…/notes`."""


class NoteBody(Body):
    text = required(Text(minimum=1, maximum=500, strip=True))


@dataclass(frozen=True)
class NoteView:
    id: UUID
    text: str
    created_at: Time


def list_notes(context, request):
    found = domain.list_notes(request.call, request.dbsession, context.address)
    return Items([NoteView(note.id, note.text, note.created_at) for note in found])


def add_note(context, request):
    text = request.body_values["text"]
    note = domain.add_note(request.call, request.dbsession, context.address, text)
    return NoteView(note.id, note.text, note.created_at)


def notes_page(context, request):
    return {"notes": domain.list_notes(request.call, request.dbsession, context.address)}


def add_by_form(context, request):
    body = request.form.read(NoteBody(), "text")
    domain.add_note(request.call, request.dbsession, context.address, body["text"])
    return redirect_after_form(context.path(PAGES), "noted")


def includeme(config):
    config.add_tree_child(Environment, "notes", Notes)
    reads = {"context": Notes, "role": Role.READER, "response": Items[NoteView]}
    config.add_api_view(list_notes, operation_id="listNotes", summary="List notes", **reads)
    writes = {"context": Notes, "role": Role.WRITER, "method": "POST", "errors": (409,)}
    writes |= {"body": NoteBody(), "response": NoteView}
    config.add_api_view(add_note, operation_id="addNote", summary="Add a note", **writes)
    page = {"context": Notes, "template": "acme_notes:templates/notes.pt"}
    config.add_page(notes_page, role=Role.READER, **page)
    config.add_form(add_by_form, role=Role.WRITER, rerender=notes_page, **page)
    config.add_tab("Notes", context=Environment, name="notes", role=Role.READER)
