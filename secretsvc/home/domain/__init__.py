"""Use cases of the home page."""
