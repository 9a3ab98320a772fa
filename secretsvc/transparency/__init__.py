"""Transparency log: Merkle tree, tiles, signed notes and canonical JSON, without a database."""
