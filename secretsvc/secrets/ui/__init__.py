"""The pages of secrets."""
