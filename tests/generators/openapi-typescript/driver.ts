// The calls of ../calls.json by openapi-fetch: what each gave, as one JSON object.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [baseUrl, token] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

function good<T>(answer: { data?: T; error?: { code: string } }): T {
  if (answer.data === undefined) throw new Error(answer.error?.code);
  return answer.data;
}

// What can also be had as text is of either type.
function json<T>(answer: T | string): T {
  if (typeof answer === "string") throw new Error("text");
  return answer;
}

const shop = { path: { project: "shop" } };
const prod = { project: "shop", env: "prod" };
const found: Record<string, unknown> = {};

found.health = good(await client.GET("/health")).status;

const { identity, global_role } = good(await client.GET("/whoami"));
found.whoAmI = [identity.subject, global_role];

const project = good(await client.POST("/projects", { body: { slug: "shop", name: "Shop" } }));
found.createProject = [project.slug, project.description];

const environments = "/projects/{project}/environments";
good(await client.POST(environments, { params: shop, body: { slug: "dev", name: "Dev" } }));
const created = good(await client.POST(environments, { params: shop, body: { slug: "prod", name: "Prod" } }));
found.createEnvironment = [created.slug, created.rev, created.protected];

const written = good(
  await client.POST("/projects/{project}/environments/{env}/secrets:batch", {
    params: { path: prod, header: { "If-Match": '"0"' } },
    body: { mode: "merge", set: { API_KEY: "it's \"quoted\"", DB_URL: "postgres://db", TOKEN: "t" } },
  }),
);
found.batchSecrets = [written.rev, ...written.changes.map((one) => `${one.key} ${one.kind} ${one.version}`)];

const listed = good(
  await client.GET("/projects/{project}/environments/{env}/secrets", { params: { path: prod } }),
);
found.listSecrets = [listed.rev, ...listed.items.map((item) => item.key)];

const secret = "/projects/{project}/environments/{env}/secrets/{key}";
const value = good(
  await client.GET(secret, { params: { path: { ...prod, key: "API_KEY" }, query: { reason: "run" } } }),
);
found.getSecret = json(value).value;

const exported = good(
  await client.GET("/projects/{project}/environments/{env}/secrets:export", { params: { path: prod } }),
);
const { secrets } = json(exported);
found.exportSecrets = [secrets["DB_URL"], Object.keys(secrets).length];

const versions = good(
  await client.GET("/projects/{project}/environments/{env}/secrets/{key}/versions", {
    params: { path: { ...prod, key: "TOKEN" } },
  }),
);
found.listSecretVersions = [versions.key, versions.items[0]?.version, versions.items[0]?.deleted];

const compared = good(
  await client.GET("/projects/{project}/environments/{env}/secrets:compare", {
    params: { path: prod, query: { project: "shop", environment: "dev" } },
  }),
);
found.compareSecrets = compared.items.map((item) => `${item.key} ${item.kind}`);

const copied = good(
  await client.POST("/projects/{project}/environments/{env}/secrets:copy", {
    params: { path: { project: "shop", env: "dev" } },
    body: { from: { project: "shop", environment: "prod" }, keys: ["DB_URL"], dry_run: true },
  }),
);
found.copySecrets = [copied.dry_run, ...copied.changes.map((one) => `${one.key} ${one.kind}`)];

const granted = good(
  await client.POST("/grants", {
    body: { scope_type: "project", project: "shop", identity_id: identity.id, role: "reader" },
  }),
);
found.createGrant = [granted.scope_type, granted.project, granted.environment, granted.role];

const records = good(await client.GET("/audit", { params: { query: { limit: 2, outcome: "success" } } }));
const newest = records.items[0];
found.readAudit = [
  records.items.length,
  records.next_cursor !== null,
  newest?.action,
  newest?.actor.subject,
];

const unknown = await client.GET(secret, { params: { path: { ...prod, key: "NONE" } } });
found.unknown = [unknown.response.status, unknown.error?.code];

process.stdout.write(JSON.stringify(found));
