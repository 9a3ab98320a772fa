"""The server around the application: bounds on connections, a stop that cuts nothing, operations."""
