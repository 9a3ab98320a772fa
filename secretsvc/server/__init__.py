"""The server around the application: bounds on connections, a graceful stop, operations."""
