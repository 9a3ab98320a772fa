"""The database: column types and conventions, and engines that behave the same on both databases."""
