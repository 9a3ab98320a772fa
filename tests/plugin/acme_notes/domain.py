"""The use cases: assert the role, load, act, record."""

from sqlalchemy import func, select

from acme_notes.models import Note
from secretsvc.audit.rules.records import record
from secretsvc.authorization.rules.checks import assert_can
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import SecretsvcError
from secretsvc.kernel.ids import new_id
from secretsvc.projects.rules import find_environment


class NotesFull(SecretsvcError):
    code = "ACME_NOTES_FULL"
    default_message = "The environment has as many notes as it may have."


def list_notes(call, session, at):
    assert_can(call, Role.READER, at)
    found = find_environment(call, at)
    notes = select(Note).where(Note.environment_id == found.id).order_by(Note.id)
    return session.scalars(notes).all()


def add_note(call, session, at, text):
    assert_can(call, Role.WRITER, at)
    found = find_environment(call, at)
    count = select(func.count()).where(Note.environment_id == found.id)
    if session.scalar(count) >= call.settings.acme_notes_limit:
        raise NotesFull()
    note = Note(id=new_id(), environment_id=found.id, text=text, created_at=call.now)
    session.add(note)
    where = {"project_id": found.project_id, "environment_id": found.id}
    record(call, "acme_note.create", **where, detail={"note": note.id})
    return note
