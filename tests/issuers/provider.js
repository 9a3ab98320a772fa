// oidc-provider on the loopback address, for the tests: who it knows comes as JSON in the first argument.
//
//   clients          as the library takes them
//   accounts         a person's claims by name: `login_hint` says who logs in, and nobody is asked anything
//   resources        what the library is to know of a resource server, by its indicator
//   idTokenSeconds   how long the ID tokens of a client hold, by its id
//
// It prints its issuer as soon as it answers. The keys of generation 1 are there from the start. Beside the
// provider's own routes there are:
//
//   PUT /test/keys    a list of generations, such as [2, 1]: these are published, and the first one signs
//   GET /test/fetches how often secretsvc has fetched the keys
import { generateKeyPair } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';

import Provider, { errors } from 'oidc-provider';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';

const { clients, accounts, resources, idTokenSeconds } = JSON.parse(process.argv[2]);
const KINDS = { RS256: ['rsa', { modulusLength: 2048 }], ES256: ['ec', { namedCurve: 'P-256' }] };
const LOGIN = '/test/login/';
const adapter = createMemoryAdapter();
const made = new Map();
let provider;
let fetches = 0;

async function key(alg, generation) {
  const kid = `${alg}-${generation}`;
  if (!made.has(kid)) {
    const { privateKey } = await promisify(generateKeyPair)(...KINDS[alg]);
    made.set(kid, { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' });
  }
  return made.get(kid);
}

async function consent(ctx) {
  const { client, session } = ctx.oidc;
  const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid email');
  await grant.save();
  return grant;
}

function resourceServer(ctx, indicator) {
  if (!Object.hasOwn(resources, indicator)) throw new errors.InvalidTarget();
  return { accessTokenFormat: 'jwt', ...resources[indicator] };
}

// The library reads its keys once, so that each change makes a provider anew: whoever is logging in stays known
// by the adapter that they share.
async function publish(issuer, generations) {
  const keys = [];
  for (const generation of generations) {
    for (const alg of Object.keys(KINDS)) keys.push(await key(alg, generation));
  }
  provider = new Provider(issuer, {
    adapter,
    clients,
    jwks: { keys },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['of a test'] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: { enabled: true, getResourceServerInfo: resourceServer },
    },
    findAccount: (ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...accounts[accountId] }) }),
    interactions: { url: (ctx, interaction) => LOGIN + interaction.uid },
    loadExistingGrant: consent,
    ttl: { IdToken: (ctx, token, client) => idTokenSeconds[client.clientId] ?? 600 },
  });
}

async function answer(request, response) {
  if (request.url === '/test/keys') {
    await publish(provider.issuer, await json(request));
    response.end();
  } else if (request.url === '/test/fetches') {
    response.end(JSON.stringify(fetches));
  } else if (request.url.startsWith(LOGIN)) {
    const { params } = await provider.interactionDetails(request, response);
    await provider.interactionFinished(request, response, { login: { accountId: params.login_hint } });
  } else {
    const path = new URL(provider.urlFor('jwks')).pathname;
    if (request.url === path && request.headers['user-agent'] === 'secretsvc') fetches += 1;
    await provider.callback()(request, response);
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    response.statusCode = 500;
    response.end();
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;
await publish(issuer, [1]);
console.log(issuer);
