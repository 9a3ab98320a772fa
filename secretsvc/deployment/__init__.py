"""Putting secretsvc into operation: a first ini, the schema, and what is wrong before it serves."""
