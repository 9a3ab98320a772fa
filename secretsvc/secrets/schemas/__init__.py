"""What clients send and get of secrets."""
