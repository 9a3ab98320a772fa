"""The command-line client of secretsvc."""

VERSION = "0.1.0"
