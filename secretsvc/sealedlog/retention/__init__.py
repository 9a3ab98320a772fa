"""Exports of the log to folders and files, and the removal of records that are exported."""
