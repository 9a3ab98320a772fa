"""Verification of the log, of its exports and of the tables."""
