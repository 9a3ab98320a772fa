"""The calls of ../calls.json by openapi-python-client's client: what each gave, as one JSON object."""

import json
import sys

from client import AuthenticatedClient
from client.api.access import create_grant
from client.api.auditlog import read_audit
from client.api.identity import who_am_i
from client.api.meta import health
from client.api.projects import create_environment, create_project
from client.api.secrets import (
    batch_secrets,
    compare_secrets,
    copy_secrets,
    export_secrets,
    get_secret,
    list_secret_versions,
    list_secrets,
)
from client.models import (
    BatchBody,
    BatchBodySet,
    CopyBody,
    CopySource,
    CreateEnvironmentBody,
    CreateProjectBody,
    GetSecretReason,
    Mode,
    ProjectGrant,
    ProjectGrantScopeType,
    ReadAuditOutcome,
    Role,
)

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
found = {}

found["health"] = health.sync(client=client).status

me = who_am_i.sync(client=client)
found["whoAmI"] = [me.identity.subject, me.global_role]

project = create_project.sync(client=client, body=CreateProjectBody("shop", "Shop"))
found["createProject"] = [project.slug, project.description]

create_environment.sync("shop", client=client, body=CreateEnvironmentBody("dev", "Dev"))
created = create_environment.sync("shop", client=client, body=CreateEnvironmentBody("prod", "Prod"))
found["createEnvironment"] = [created.slug, created.rev, created.protected]

values = BatchBodySet.from_dict({"API_KEY": 'it\'s "quoted"', "DB_URL": "postgres://db", "TOKEN": "t"})
body = BatchBody(Mode.MERGE, set_=values)
written = batch_secrets.sync("shop", "prod", client=client, body=body, if_match='"0"')
found["batchSecrets"] = [written.rev, *(f"{one.key} {one.kind} {one.version}" for one in written.changes)]

listed = list_secrets.sync("shop", "prod", client=client)
found["listSecrets"] = [listed.rev, *(item.key for item in listed.items)]

value = get_secret.sync("shop", "prod", "API_KEY", client=client, reason=GetSecretReason.RUN)
found["getSecret"] = value.value

exported = export_secrets.sync("shop", "prod", client=client).secrets
found["exportSecrets"] = [exported["DB_URL"], len(exported.additional_keys)]

versions = list_secret_versions.sync("shop", "prod", "TOKEN", client=client)
found["listSecretVersions"] = [versions.key, versions.items[0].version, versions.items[0].deleted]

compared = compare_secrets.sync("shop", "prod", client=client, project_query="shop", environment="dev")
found["compareSecrets"] = [f"{item.key} {item.kind}" for item in compared.items]

body = CopyBody(CopySource("shop", "prod"), keys=["DB_URL"], dry_run=True)
copied = copy_secrets.sync("shop", "dev", client=client, body=body)
found["copySecrets"] = [copied.dry_run, *(f"{one.key} {one.kind}" for one in copied.changes)]

body = ProjectGrant(Role.READER, ProjectGrantScopeType.PROJECT, "shop", me.identity.id)
granted = create_grant.sync(client=client, body=body)
found["createGrant"] = [granted.scope_type, granted.project, granted.environment, granted.role]

records = read_audit.sync(client=client, limit=2, outcome=ReadAuditOutcome.SUCCESS)
newest = records.items[0]
found["readAudit"] = [
    len(records.items),
    records.next_cursor is not None,
    newest.action,
    newest.actor.subject,
]

unknown = get_secret.sync_detailed("shop", "prod", "NONE", client=client)
found["unknown"] = [unknown.status_code, unknown.parsed.code]

print(json.dumps(found))
