"""Secrets as rows, as envelopes and as text, and the one way to write them."""
