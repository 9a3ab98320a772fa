def includeme(config):
    pass
