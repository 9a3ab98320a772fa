"""A believable organisation for a development database, made through the application itself."""
