// The calls of ../../calls.json by openapi-generator's client: what each gave, as one JSON object.
import {
  AccessApi,
  AuditlogApi,
  Configuration,
  IdentityApi,
  MetaApi,
  Mode,
  ProjectsApi,
  ResponseError,
  Role,
  SecretsApi,
} from "./client/index.js";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [basePath, accessToken] = process.argv.slice(2) as [string, string];
const configuration = new Configuration({ basePath, accessToken });
const projects = new ProjectsApi(configuration);
const secrets = new SecretsApi(configuration);
const prod = { project: "shop", env: "prod" };
const found: Record<string, unknown> = {};

found.health = (await new MetaApi(configuration).health()).status;

const me = await new IdentityApi(configuration).whoAmI();
found.whoAmI = [me.identity.subject, me.globalRole];

const project = await projects.createProject({ createProjectBody: { slug: "shop", name: "Shop" } });
found.createProject = [project.slug, project.description];

await projects.createEnvironment({ project: "shop", createEnvironmentBody: { slug: "dev", name: "Dev" } });
const created = await projects.createEnvironment({
  project: "shop",
  createEnvironmentBody: { slug: "prod", name: "Prod" },
});
found.createEnvironment = [created.slug, created.rev, created._protected];

const values = { API_KEY: "it's \"quoted\"", DB_URL: "postgres://db", TOKEN: "t" };
const written = await secrets.batchSecrets({
  ...prod,
  ifMatch: '"0"',
  batchBody: { mode: Mode.Merge, set: values },
});
found.batchSecrets = [written.rev, ...written.changes.map((one) => `${one.key} ${one.kind} ${one.version}`)];

const listed = await secrets.listSecrets(prod);
found.listSecrets = [listed.rev, ...listed.items.map((item) => item.key)];

found.getSecret = (await secrets.getSecret({ ...prod, key: "API_KEY", reason: "run" })).value;

const exported = (await secrets.exportSecrets(prod)).secrets;
found.exportSecrets = [exported["DB_URL"], Object.keys(exported).length];

const versions = await secrets.listSecretVersions({ ...prod, key: "TOKEN" });
found.listSecretVersions = [versions.key, versions.items[0]?.version, versions.items[0]?.deleted];

const compared = await secrets.compareSecrets({ ...prod, project2: "shop", environment: "dev" });
found.compareSecrets = compared.items.map((item) => `${item.key} ${item.kind}`);

const copied = await secrets.copySecrets({
  project: "shop",
  env: "dev",
  copyBody: { from: { project: "shop", environment: "prod" }, keys: ["DB_URL"], dryRun: true },
});
found.copySecrets = [copied.dryRun, ...copied.changes.map((one) => `${one.key} ${one.kind}`)];

const granted = await new AccessApi(configuration).createGrant({
  createGrantBody: {
    scopeType: "project",
    project: "shop",
    identityId: me.identity.id,
    role: Role.Reader,
  },
});
found.createGrant = [granted.scopeType, granted.project, granted.environment, granted.role];

const records = await new AuditlogApi(configuration).readAudit({ limit: 2, outcome: "success" });
const newest = records.items[0];
found.readAudit = [
  records.items.length,
  records.nextCursor !== null,
  newest?.action,
  newest?.actor.subject,
];

try {
  await secrets.getSecret({ ...prod, key: "NONE" });
} catch (error) {
  if (!(error instanceof ResponseError)) throw error;
  found.unknown = [error.response.status, (await error.response.json()).code];
}

process.stdout.write(JSON.stringify(found));
