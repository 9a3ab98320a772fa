"""The Pyramid machinery: mounts, tree, views, input, errors. It knows no wing."""


def includeme(config):  # type: ignore[no-untyped-def]
    """Directives first, so that every wing can use them."""
    for room in ("tree", "errors", "views", "tweens", "wire"):
        config.include(f".{room}")
