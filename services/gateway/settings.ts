/** Settings of the gateway. */
import { isIP } from 'node:net';
import { defaultRequestBytes } from '@anneal/hot/limits.ts';
import { defineSettings, listIn } from '@anneal/runtime/service/settings.ts';
import { z } from 'zod';
import { auditLevels } from './identity/audit.ts';
import { mappedRoles } from './identity/oidc/claims.ts';

const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback);

/** True for a range of addresses. The names represent ranges that every machine has. */
const isRange = (text: string): boolean => {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  const [address = '', bits, ...more] = text.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  return (
    isIP(address) > 0 && more.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most))
  );
};
const ranges = z
  .string()
  .transform((text) => text.split(',').map((each) => each.trim()))
  .refine(
    (list) => list.every(isRange),
    'must be addresses, ranges such as 10.0.0.0/8, or loopback, separated by commas',
  )
  .optional();

/** As a browser sends it: `https://console.example.org`, without a path. */
const isOrigin = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text;
const origins = z
  .string()
  .transform((text) => text.split(',').map((each) => each.trim()))
  .refine(
    (list) => list.every(isOrigin),
    'must be origins such as https://page.example.org, in lower case, without a path or *, separated by commas',
  )
  .default([]);

/** https, because the provider's answer decides who logs in; http only for a provider on this machine. */
const isIssuer = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
};

const roleMapping = z
  .string()
  .transform((text, context) => {
    const read = mappedRoles(text);
    if (read) return read;
    context.addIssue('must be roles such as ops=admin@admin,*=reader@web, separated by commas');
    return z.NEVER;
  })
  .default([]);

export const gatewaySettings = defineSettings({
  host: {
    env: 'ANNEAL_GATEWAY_HOST',
    schema: z.string().default('127.0.0.1'),
    meaning: 'Address to listen on. Other machines can reach any address but a loopback one: put a TLS proxy in front.',
  },
  port: {
    env: 'ANNEAL_GATEWAY_PORT',
    schema: whole(8470, 0, 65_535),
    meaning: 'Port to listen on; 0 picks a free one.',
  },
  trustedProxies: {
    env: 'ANNEAL_GATEWAY_TRUSTED_PROXIES',
    schema: ranges,
    meaning:
      'Addresses of trusted proxies, e.g. `10.0.0.0/8,127.0.0.1`. Only from them X-Forwarded-For, -Proto and -Host are used, so that links and the catalog contain the address that clients use. Default: none.',
    cost: 'A client that can send from such an address controls the addresses in links and the address for which failed logins are counted.',
  },
  allowedOrigins: {
    env: 'ANNEAL_GATEWAY_ALLOWED_ORIGINS',
    schema: origins,
    meaning:
      'Origins whose pages may call `/api/v1` from a browser (CORS), e.g. `https://page.example.org,http://localhost:5173`. They send a token; the session of the console is only for its own pages. Default: none.',
    cost: 'A script in a page of such an origin can use any token that the page has.',
  },
  oidcIssuer: {
    env: 'ANNEAL_GATEWAY_OIDC_ISSUER',
    schema: z
      .string()
      .refine(isIssuer, 'must be an address that begins with https://, or http:// for a provider on this machine')
      .optional(),
    meaning:
      'Issuer of an OpenID provider, e.g. `https://login.example.org/realms/company`: its users log in here too. The provider has to know `<address of the server>/identity/oidc/callback` as an address to come back to. Default: none.',
  },
  oidcClientId: {
    env: 'ANNEAL_GATEWAY_OIDC_CLIENT_ID',
    schema: z.string().min(1).optional(),
    meaning: 'The id of Anneal as a client of the provider.',
  },
  oidcClientSecret: {
    env: 'ANNEAL_GATEWAY_OIDC_CLIENT_SECRET',
    schema: z.string().min(1).optional(),
    meaning: 'The secret of that client. Default: none, as for a public client.',
    secret: true,
  },
  oidcAudience: {
    env: 'ANNEAL_GATEWAY_OIDC_AUDIENCE',
    schema: z.string().min(1).optional(),
    meaning:
      'Another audience than the client id that access tokens for Anneal may have. Programs send such tokens (`v3oidcaccesstoken` and the like).',
    cost: 'Each token of the provider with this audience logs its user in, so no other service may have the same one.',
  },
  oidcScopes: {
    env: 'ANNEAL_GATEWAY_OIDC_SCOPES',
    schema: z
      .string()
      .default('openid profile email')
      .refine((text) => text.split(' ').includes('openid'), 'must contain openid'),
    meaning: 'Scopes that a login asks for, separated by spaces.',
  },
  oidcName: {
    env: 'ANNEAL_GATEWAY_OIDC_NAME',
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be letters, digits, _ . and -')
      .refine((name) => name.toLowerCase() !== 'default', 'must not be that of the domain Default')
      .default('oidc'),
    meaning:
      'Name of the provider: on the button of the console, of the domain of its users, and as identity provider in Keystone’s addresses (protocol `openid`).',
  },
  oidcNameClaim: {
    env: 'ANNEAL_GATEWAY_OIDC_NAME_CLAIM',
    schema: z.string().min(1).default('preferred_username'),
    meaning: 'Claim with the name of the user, e.g. `email`. The claim `sub` identifies the user.',
  },
  oidcGroupsClaim: {
    env: 'ANNEAL_GATEWAY_OIDC_GROUPS_CLAIM',
    schema: z.string().min(1).default('groups'),
    meaning:
      'Claim with the groups of the user, e.g. `realm_access.roles`. At each login the user becomes a member of the groups of the domain of the provider that have these names, and of no other there.',
  },
  oidcRoles: {
    env: 'ANNEAL_GATEWAY_OIDC_ROLES',
    schema: roleMapping,
    meaning:
      'Roles that the groups of the claim give in projects, e.g. `ops=admin@admin,web-team=member@web,*=reader@web`; `*` represents every user of the provider. Each login replaces what an earlier one gave. Default: none.',
    cost: 'Who may change groups at the provider decides who has these roles here.',
  },
  oidcUsers: {
    env: 'ANNEAL_GATEWAY_OIDC_USERS',
    schema: z.enum(['create', 'refuse']).default('create'),
    meaning:
      'What happens at the first login: the user is created, or refused unless an operator has created a user of that name in the domain of the provider.',
  },
  tokenHours: {
    env: 'ANNEAL_GATEWAY_TOKEN_HOURS',
    schema: z.coerce.number().positive().max(8760).default(24),
    meaning: 'Lifetime of a token, in hours.',
    cost: 'A stolen token works for this time.',
  },
  bodyLimit: {
    env: 'ANNEAL_GATEWAY_BODY_LIMIT',
    schema: whole(defaultRequestBytes, 1024, 256 * 1024 * 1024),
    meaning: 'Maximum size of a request body, in bytes.',
    cost: 'Each request in flight may take several times this much memory.',
  },
  hiddenTags: {
    env: 'ANNEAL_GATEWAY_HIDDEN_STACK_TAGS',
    schema: z.string().default('data-processing-cluster').transform(listIn),
    meaning:
      'Tags, separated by commas: Heat’s list of stacks shows a stack with one of them only with `show_hidden`. The default is that of Heat.',
  },
  configLimit: {
    env: 'ANNEAL_GATEWAY_CONFIG_LIMIT',
    schema: whole(16 * 1024 * 1024, 1024, 256 * 1024 * 1024),
    meaning: 'Maximum size of a request that stores a software config, in bytes.',
    cost: 'Each request in flight may take several times this much memory.',
  },
  maxWaitSeconds: {
    env: 'ANNEAL_GATEWAY_MAX_WAIT_SECONDS',
    schema: whole(45, 0, 300),
    meaning: 'Maximum time that a claim may wait for a message.',
    cost: 'Each waiting host keeps a connection open; proxies often close connections that are silent for a minute. A lower value costs more requests of idle hosts.',
  },
  hostWaitSeconds: {
    env: 'ANNEAL_GATEWAY_HOST_WAIT_SECONDS',
    schema: whole(300, 0, 3600),
    meaning:
      'Maximum time that the claim of a host may wait for work over a direct connection. Over a proxy that adds X-Forwarded-For, Forwarded or Via it is ANNEAL_GATEWAY_MAX_WAIT_SECONDS.',
    cost: 'A lower value costs more requests of idle hosts. A higher one needs a network that keeps a connection open whose only traffic is a TCP keepalive every 10 s.',
  },
  queuePage: {
    env: 'ANNEAL_GATEWAY_QUEUE_PAGE',
    schema: whole(100, 1, 1000),
    meaning:
      'Maximum number of queues or messages in one list of the queue API, and of messages in one claim or one post.',
    cost: 'Each message may be as large as a post, so a higher value takes more memory per request.',
  },
  queuePop: {
    env: 'ANNEAL_GATEWAY_QUEUE_POP',
    schema: whole(20, 1, 1000),
    meaning: 'Maximum number of messages that one request to the queue API may pop or name by id.',
    cost: 'The same as for one page.',
  },
  messageSeconds: {
    env: 'ANNEAL_GATEWAY_MESSAGE_SECONDS',
    schema: whole(1_209_600, 60, 315_360_000),
    meaning: 'Maximum time to live of a message in a queue, in seconds.',
    cost: 'A message that no client takes stays in the store for this time.',
  },
  claimSeconds: {
    env: 'ANNEAL_GATEWAY_CLAIM_SECONDS',
    schema: whole(43_200, 60, 1_209_600),
    meaning: 'Maximum time to live and maximum grace of a claim, in seconds.',
    cost: 'Messages that a dead client claimed are offered again only when its claim expires.',
  },
  answerTimeoutMs: {
    env: 'ANNEAL_GATEWAY_ANSWER_TIMEOUT_MS',
    schema: whole(30_000, 100, 600_000),
    meaning: 'Time that the gateway waits for the answer of a service before it answers 503.',
    cost: 'With a lower value, a slow database makes every request fail; with a higher value, clients wait longer for a service that is down.',
  },
  compileTimeoutMs: {
    env: 'ANNEAL_GATEWAY_COMPILE_TIMEOUT_MS',
    schema: whole(60_000, 100, 600_000),
    meaning:
      'Time that the gateway waits for requests that compile templates (create, update, preview, validate) before it answers 503.',
  },
  ramdisk: {
    env: 'ANNEAL_GATEWAY_RAMDISK',
    schema: z.string().min(1).optional(),
    meaning:
      'Folder with the ramdisk that machines boot to be erased and installed. Default: deploy/ramdisk/dist, which `npm run build:ramdisk` fills.',
  },
  images: {
    env: 'ANNEAL_GATEWAY_IMAGES',
    schema: z.string().min(1).optional(),
    meaning:
      'Folder for the content of uploaded images. Several gateways need one that they share, such as an NFS export. Default: `images` in the data folder.',
    cost: 'The folder needs room for every uploaded image, and for one more during an upload.',
  },
  imageLimit: {
    env: 'ANNEAL_GATEWAY_IMAGE_LIMIT',
    schema: whole(64 * 2 ** 30, 1024 * 1024, 2 ** 50),
    meaning: 'Maximum size of an uploaded image, in bytes. For qcow2, the size of its disk counts too.',
  },
  agents: {
    env: 'ANNEAL_GATEWAY_AGENTS',
    schema: z.string().min(1).optional(),
    meaning:
      'Folder with the agents that are one file each (`anneal-agent-linux-amd64`, `-arm64`, `*.sources`, `SHA256SUMS`). Default: the folder that `npm run build:agent` fills.',
  },
  metadataNetworks: {
    env: 'ANNEAL_GATEWAY_METADATA_NETWORKS',
    schema: ranges.refine(
      (list) => list?.every((each) => isIP(each.split('/')[0] ?? '') > 0) ?? true,
      'must be addresses or ranges such as 10.20.0.0/24, separated by commas',
    ),
    meaning:
      'Networks whose hosts read their metadata at the plain addresses of clouds (`/latest/meta-data/…`, `/openstack/…`), e.g. `10.20.0.0/24`. The source address names the host: it must be one that an operator declared for its node. Default: none; every host has an address of its own with a key.',
    cost: 'A machine that can receive what is sent to the address of another one reads its user data: only for networks whose switches bind addresses to ports.',
  },
  metadataTokens: {
    env: 'ANNEAL_GATEWAY_METADATA_TOKENS',
    schema: z.enum(['optional', 'required']).default('optional'),
    meaning:
      'Whether reads in the form of EC2 need a session token (IMDSv2). `required` keeps out programs on a host that fetch any address for others.',
    cost: 'cloud-init asks for tokens only on EC2 itself, so its data source Ec2 needs `optional`.',
  },
  console: {
    env: 'ANNEAL_GATEWAY_CONSOLE',
    schema: z.string().min(1).optional(),
    meaning: 'Folder with the built web console. Default: the folder that `npm run build:console` fills.',
  },
  audit: {
    env: 'ANNEAL_GATEWAY_AUDIT',
    schema: z.enum(auditLevels).default('changes'),
    meaning:
      'Calls of users that have a line with `audit` in the log, at level `info`: those that change something, all, or none (`off`).',
    cost: '`all` writes a line for each read, also for those of the console.',
  },
  userRequests: {
    env: 'ANNEAL_GATEWAY_USER_REQUESTS',
    schema: z.coerce.number().int().min(0).max(1_000_000).default(0),
    meaning:
      'Requests per second that one user may send in one project to each process of the gateway, on average over ten seconds. More are refused with 429 and `Retry-After`. 0: no limit. Hosts and machine credentials have no limit.',
    cost: 'A lower value refuses programs that send many requests at once, such as the console with many pages.',
  },
  maxStreams: {
    env: 'ANNEAL_GATEWAY_MAX_STREAMS',
    schema: whole(1000, 1, 100_000),
    meaning: 'Maximum number of open event streams; others are refused with 429.',
    cost: 'A few KB of memory and a connection per stream.',
  },
  heartbeatMs: {
    env: 'ANNEAL_GATEWAY_HEARTBEAT_MS',
    schema: whole(15_000, 50, 300_000),
    meaning: 'Interval of the comments on a silent event stream, so that proxies keep it open.',
  },
});
