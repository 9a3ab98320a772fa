"""The calls of ../../calls.json by openapi-generator's client: what each gave, as one JSON object."""

import json
import sys

from openapi_client import (
    AccessApi,
    ApiClient,
    AuditlogApi,
    BatchBody,
    Configuration,
    CopyBody,
    CopySource,
    CreateEnvironmentBody,
    CreateGrantBody,
    CreateProjectBody,
    Error,
    IdentityApi,
    MetaApi,
    Mode,
    ProjectGrant,
    ProjectsApi,
    Role,
    SecretsApi,
)
from openapi_client.exceptions import NotFoundException

client = ApiClient(Configuration(host=sys.argv[1], access_token=sys.argv[2]))
projects, secrets = ProjectsApi(client), SecretsApi(client)
found = {}

found["health"] = MetaApi(client).health().status

me = IdentityApi(client).who_am_i()
found["whoAmI"] = [me.identity.subject, me.global_role]

project = projects.create_project(CreateProjectBody(slug="shop", name="Shop"))
found["createProject"] = [project.slug, project.description]

projects.create_environment("shop", CreateEnvironmentBody(slug="dev", name="Dev"))
created = projects.create_environment("shop", CreateEnvironmentBody(slug="prod", name="Prod"))
found["createEnvironment"] = [created.slug, created.rev, created.protected]

values = {"API_KEY": 'it\'s "quoted"', "DB_URL": "postgres://db", "TOKEN": "t"}
written = secrets.batch_secrets("shop", "prod", BatchBody(mode=Mode.MERGE, set=values), if_match='"0"')
found["batchSecrets"] = [written.rev, *(f"{one.key} {one.kind} {one.version}" for one in written.changes)]

listed = secrets.list_secrets("shop", "prod")
found["listSecrets"] = [listed.rev, *(item.key for item in listed.items)]

found["getSecret"] = secrets.get_secret("shop", "prod", "API_KEY", reason="run").value

exported = secrets.export_secrets("shop", "prod").secrets
found["exportSecrets"] = [exported["DB_URL"], len(exported)]

versions = secrets.list_secret_versions("shop", "prod", "TOKEN")
found["listSecretVersions"] = [versions.key, versions.items[0].version, versions.items[0].deleted]

compared = secrets.compare_secrets("shop", "prod", project2="shop", environment="dev")
found["compareSecrets"] = [f"{item.key} {item.kind}" for item in compared.items]

source = CopySource(project="shop", environment="prod")
copied = secrets.copy_secrets("shop", "dev", CopyBody(var_from=source, keys=["DB_URL"], dry_run=True))
found["copySecrets"] = [copied.dry_run, *(f"{one.key} {one.kind}" for one in copied.changes)]

grant = ProjectGrant(role=Role.READER, scope_type="project", project="shop", identity_id=me.identity.id)
granted = AccessApi(client).create_grant(CreateGrantBody(grant))
found["createGrant"] = [granted.scope_type, granted.project, granted.environment, granted.role]

records = AuditlogApi(client).read_audit(limit=2, outcome="success")
newest = records.items[0]
found["readAudit"] = [
    len(records.items),
    records.next_cursor is not None,
    newest.action,
    newest.actor.subject,
]

try:
    secrets.get_secret("shop", "prod", "NONE")
except NotFoundException as error:
    found["unknown"] = [error.status, Error.from_json(error.body).code]

print(json.dumps(found))
