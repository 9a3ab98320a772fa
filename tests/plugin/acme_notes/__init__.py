"""Notes on environments: a plugin of secretsvc, `pyramid.includes = acme_notes` in the ini."""

from acme_notes.domain import NotesFull
from acme_notes.tsv import read_tsv, write_tsv
from secretsvc.kernel.parsers import integer


def includeme(config):
    config.add_models(".models", migrations="acme_notes:migrations")
    config.add_setting("acme_notes_limit", integer(1, 1000), 100)
    config.add_error(NotesFull, 409, "Ask the operator to raise ACME_NOTES_LIMIT.")
    config.add_audit_action("acme_note.create")
    config.add_flash_message("noted", "Noted.")
    config.add_format("tsv", read=read_tsv, write=write_tsv, media="text/tab-separated-values")
    config.include(".views")
