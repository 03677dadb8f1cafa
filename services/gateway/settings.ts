/** Settings of the gateway. */
import { readWebAddress } from '@anneal/contracts/readers/web-address.ts';
import { readNetwork } from '@anneal/contracts/readers/ip.ts';
import { defaultRequestBytes } from '@anneal/hot/limits.ts';
import { defineSettings, listIn } from '@anneal/runtime/service/settings.ts';
import { z } from 'zod';
import { auditLevels } from './identity/audit.ts';

const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback);

/** True for a range of addresses. The names represent ranges that every machine has. */
const isRange = (text: string): boolean => {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  return readNetwork(text) !== undefined;
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
const isOrigin = (text: string): boolean => readWebAddress(text)?.origin === text;
const origins = z
  .string()
  .transform((text) => text.split(',').map((each) => each.trim()))
  .refine(
    (list) => list.every(isOrigin),
    'must be origins such as https://page.example.org, in lower case, without a path or *, separated by commas',
  )
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
      (list) => list?.every((each) => readNetwork(each) !== undefined) ?? true,
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
  userConcurrency: {
    env: 'ANNEAL_GATEWAY_USER_CONCURRENCY',
    schema: z.coerce.number().int().min(0).max(1_000_000).default(250),
    meaning:
      'Requests that one user may have in progress in one project at each process of the gateway, long polls and event streams included. More are refused with 429. 0: no limit. Hosts and machine credentials have no limit.',
    cost: 'With a higher value, one program may take every connection to the database, and others wait.',
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
