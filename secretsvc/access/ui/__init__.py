"""The pages of grants, of identities, and of who can read where."""
