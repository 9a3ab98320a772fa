def make_filter(global_config, **options):
    return lambda app: app
