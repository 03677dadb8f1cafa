/** Settings of the gateway. */
import { isIP } from 'node:net';
import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';

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
    'must be addresses or ranges such as 10.0.0.0/8, or loopback, with commas between',
  )
  .optional();

export const gatewaySettings = defineSettings({
  host: {
    env: 'ANNEAL_GATEWAY_HOST',
    schema: z.string().default('127.0.0.1'),
    meaning: 'The address to listen on. Anything but a loopback address is reachable by others: put TLS in front.',
  },
  port: {
    env: 'ANNEAL_GATEWAY_PORT',
    schema: whole(8470, 0, 65_535),
    meaning: 'The port to listen on; 0 takes a free one.',
  },
  trustedProxies: {
    env: 'ANNEAL_GATEWAY_TRUSTED_PROXIES',
    schema: ranges,
    meaning:
      'Addresses of the proxies in front, e.g. `10.0.0.0/8,127.0.0.1`. From them alone X-Forwarded-For, -Proto and -Host are believed, so that links and the catalog name the address that clients use. Default: nobody.',
    cost: 'Whoever can send from such an address can choose what links say and which address failed logins are counted for.',
  },
  adminPassword: {
    env: 'ANNEAL_GATEWAY_ADMIN_PASSWORD',
    schema: z.string().min(8).optional(),
    meaning: 'The password of the user admin. Needed at the first start; a later one replaces it.',
    secret: true,
  },
  tokenHours: {
    env: 'ANNEAL_GATEWAY_TOKEN_HOURS',
    schema: z.coerce.number().positive().max(8760).default(24),
    meaning: 'How long a token is good for, in hours.',
    cost: 'A stolen token works as long as this.',
  },
  bodyLimit: {
    env: 'ANNEAL_GATEWAY_BODY_LIMIT',
    schema: whole(1024 * 1024, 1024, 256 * 1024 * 1024),
    meaning: 'The most bytes of a request body.',
    cost: 'Each request in flight may hold this much memory several times over.',
  },
  maxWaitSeconds: {
    env: 'ANNEAL_GATEWAY_MAX_WAIT_SECONDS',
    schema: whole(30, 0, 300),
    meaning: 'The longest that a claim may wait for a message.',
    cost: 'Each waiting host holds a connection; proxies often cut those that are silent for a minute.',
  },
  queuePage: {
    env: 'ANNEAL_GATEWAY_QUEUE_PAGE',
    schema: whole(100, 1, 1000),
    meaning:
      'The most queues or messages that one list of the queue API shows, and messages that one claim takes or one post brings.',
    cost: 'Each message may have as many bytes as a post: more takes more memory for each request.',
  },
  queuePop: {
    env: 'ANNEAL_GATEWAY_QUEUE_POP',
    schema: whole(20, 1, 1000),
    meaning: 'The most messages that one request to the queue API may pop, or name by their ids.',
    cost: 'As for one page.',
  },
  messageSeconds: {
    env: 'ANNEAL_GATEWAY_MESSAGE_SECONDS',
    schema: whole(1_209_600, 60, 315_360_000),
    meaning: 'The longest time to live of a message in a queue, in seconds.',
    cost: 'A message that no client takes stays in the store for as long.',
  },
  claimSeconds: {
    env: 'ANNEAL_GATEWAY_CLAIM_SECONDS',
    schema: whole(43_200, 60, 1_209_600),
    meaning: 'The longest time to live of a claim, and the longest grace, in seconds.',
    cost: 'The messages of a client that died are offered again only after its claim.',
  },
  answerTimeoutMs: {
    env: 'ANNEAL_GATEWAY_ANSWER_TIMEOUT_MS',
    schema: whole(30_000, 100, 600_000),
    meaning: 'How long the gateway waits for the answer of a service before it answers 503.',
    cost: 'Shorter, and a database that answers seconds late makes every request fail; longer, and clients wait for a service that is down.',
  },
  compileTimeoutMs: {
    env: 'ANNEAL_GATEWAY_COMPILE_TIMEOUT_MS',
    schema: whole(60_000, 100, 600_000),
    meaning:
      'How long the gateway waits for what compiles templates (create, update, preview, validate) before it answers 503.',
  },
  maxStreams: {
    env: 'ANNEAL_GATEWAY_MAX_STREAMS',
    schema: whole(1000, 1, 100_000),
    meaning: 'The most event streams at the same time; one more is answered 429.',
    cost: 'A few kilobytes of memory and a connection each.',
  },
  heartbeatMs: {
    env: 'ANNEAL_GATEWAY_HEARTBEAT_MS',
    schema: whole(15_000, 50, 300_000),
    meaning: 'How often a silent event stream gets a comment, so that proxies keep it open.',
  },
});
