"""Selecting records of the audit log, and counting them over time."""
