"""What every package may import: errors, rules and primitives, without Pyramid and other packages."""
