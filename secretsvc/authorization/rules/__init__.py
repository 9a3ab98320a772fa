"""The snapshot, the assertions, admission, and the last-admin guard."""
