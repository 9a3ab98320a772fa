"""Pages of home."""
