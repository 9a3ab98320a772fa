"""The schema that this code was written for."""

#: The newest migration. Whoever adds one puts its number here; a process over another schema is not ready.
REVISION = "0009"
