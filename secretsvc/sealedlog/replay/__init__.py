"""The state of the tables that the log leads to, and its comparison with the rows."""
