"""File formats that secrets are exported in and imported from."""
