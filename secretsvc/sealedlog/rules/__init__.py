"""What the sealed log is made of: leaves, the key that signs, sealing, and what is read of it."""
