"""Service tokens: what machines bring that no issuer makes tokens for (contract 6.4)."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
    config.add_audit_action("token.create", "token.delete")
