"""Writes of secrets: lock, plan, apply, record."""
