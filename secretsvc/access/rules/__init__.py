"""Grants as rows, whom they are for, and what they amount to."""
