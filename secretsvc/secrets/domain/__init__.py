"""Use cases of secrets."""
