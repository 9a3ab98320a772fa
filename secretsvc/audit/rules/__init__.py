"""What use cases lean on: to record what they did and what they refused."""
