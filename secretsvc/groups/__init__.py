"""Groups of identities: records, members and grants."""

from pyramid.config import Configurator

#: The actions of this package, how their records are told, and their symbols.
SENTENCES = (
    ("group.create", "created the group {group}", "layers"),
    ("group.update", "changed the group {group}", "layers"),
    ("group.delete", "deleted the group {group}", "trash-2"),
    ("group.member.add", "added {member} to the group {group}", "user-plus"),
    ("group.member.remove", "took {member} out of the group {group}", "user"),
    ("group.grant.create", "gave {holder} the {role} role on {scope}", "user-plus"),
    ("group.grant.update", "changed the grant of {holder} on {scope}", "shield-check"),
    ("group.grant.delete", "took the {role} role on {scope} from {holder}", "shield"),
)


def includeme(config: Configurator) -> None:
    config.include(".resources")
    config.add_api_views(".api")
    config.include(".ui")
    for name, sentence, icon in SENTENCES:
        config.add_audit_action(name, sentence=sentence, icon=icon)
