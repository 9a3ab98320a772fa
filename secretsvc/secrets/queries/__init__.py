"""Reads of secrets: find the environment, then select named columns; decrypt in one place."""
