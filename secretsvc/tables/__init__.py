"""The tables that authorization joins: identities, groups, grants, projects, environments."""
