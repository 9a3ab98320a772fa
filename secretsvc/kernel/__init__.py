"""What every floor may lean on: words, rules and primitives that know neither Pyramid nor any wing."""
