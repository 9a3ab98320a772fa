"""Secrets: sealed values, their history, and the writes that change an environment."""
