"""The schema that this code was written for."""

#: The newest migration. Whoever adds one puts its number here; a process over another schema is not ready.
REVISION = "0009"

#: The tables that only grow.
APPEND_ONLY = ("audit_key", "audit_record")
#: The triggers that promises rest on, each with its table; a restored copy may lack them.
TRIGGERS = {
    "sqlite": {
        ("environment_departs", "environment"),
        *((f"{table}_no_{what}", table) for table in APPEND_ONLY for what in ("update", "delete", "replace")),
    },
    "postgresql": {
        ("environment_departs", "environment"),
        *((f"{table}_no_{what}", table) for table in APPEND_ONLY for what in ("change", "truncate")),
    },
}
