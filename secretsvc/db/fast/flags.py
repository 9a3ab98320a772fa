"""Whether the fast path is taken; see README.md."""

#: `False` executes everything by `Connection.execute`.
ENABLED = True
