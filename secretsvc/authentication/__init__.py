"""Who is asking: from an assertion to a principal, by the keys of the access proxy."""
