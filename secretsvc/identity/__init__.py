"""Who is calling: the access proxy's assertion, its signing keys, and the identities they name."""
