"""Audit records of what use cases did and of what they refused."""
