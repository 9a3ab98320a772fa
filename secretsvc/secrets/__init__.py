"""Secrets: sealed values, their history, and the writes that change an environment."""

from pyramid.config import Configurator

#: The actions of this package, how their records are told, and their symbols.
SENTENCES = (
    ("secret.batch", "{did} {keys} in {scope}", "pencil"),
    ("secret.import", "imported {keys} into {scope}", "clipboard-paste"),
    ("secret.rename", "renamed {keys} in {scope}", "pencil"),
    ("secret.rollback", "rolled back {keys} in {scope}", "rotate-ccw"),
    ("secret.reveal", "{read} {key} in {scope}", "eye"),
    ("secret.export", "{read} {scope}", "download"),
    ("secret.copy", "copied {keys} into {scope}", "copy"),
    ("secret.restore", "restored {scope} to revision {to_rev}", "undo-2"),
    ("keyring.adopt", "took the master key {kid} into use", "key-round"),
)


def includeme(config: Configurator) -> None:
    config.include(".directives")
    config.add_models(".models")
    config.include(".idempotency_cleanup")
    config.include(".api.secrets")
    config.add_api_views(".api.history")
    config.include(".api.copies")
    config.include(".ui.changes")
    config.include(".ui.matrix")
    config.include(".ui.comparison")
    config.include(".ui.copies")
    config.include(".ui.deletion")
    config.include(".ui.project_wide")
    config.include(".ui.editor")
    config.include(".ui.secret")
    config.include(".ui.history")
    config.include(".ui.reviewed_forms")
    for name, sentence, icon in SENTENCES:
        config.add_audit_action(name, sentence=sentence, icon=icon)
