"""The API of secrets and of their history."""
