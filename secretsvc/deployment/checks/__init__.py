"""What `secretsvc-server check` looks at, and what to do about what it finds."""
