"""Use cases of grants."""
