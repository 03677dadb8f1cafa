/** The settings of every process, whichever services it runs. */
import { z } from 'zod';
import { defineSettings } from './settings.ts';

export const sharedSettings = defineSettings({
  dataDirectory: {
    env: 'ANNEAL_DATA',
    schema: z.string().default('.anneal'),
    meaning: 'Where this process keeps its files: the embedded broker and store, keys and credentials.',
  },
  busUrl: {
    env: 'ANNEAL_BUS_URL',
    schema: z.string().optional(),
    meaning: 'The broker; the scheme chooses it. Default: embedded, `sqlite:<data>/bus.db`.',
    cost: '`?synchronous=full` makes every commit survive a loss of power, at about a tenth of the speed.',
  },
  storeUrl: {
    env: 'ANNEAL_STORE_URL',
    schema: z.string().optional(),
    meaning: 'The database; the scheme chooses it. Default: embedded, `sqlite:<data>/store.db`.',
    cost: '`?synchronous=full` makes every commit survive a loss of power, at about a tenth of the speed.',
  },
  gatewayUrl: {
    env: 'ANNEAL_GATEWAY_URL',
    schema: z.url().default('http://127.0.0.1:8470'),
    meaning: 'Where hosts and clients reach the gateway. Hosts are told this address when they boot.',
  },
  region: {
    env: 'ANNEAL_GATEWAY_REGION',
    schema: z.string().min(1).default('RegionOne'),
    meaning: 'The region that the catalog names, the only one that a remote stack can be made in.',
  },
  keys: {
    env: 'ANNEAL_KEYS',
    schema: z
      .string()
      .regex(
        /^[A-Za-z0-9+/_=-]{43,44}(,[A-Za-z0-9+/_=-]{43,44})*$/,
        'must be 32-byte keys in base64, separated by commas',
      )
      .optional(),
    meaning:
      'Keys for secrets at rest, base64; the first one seals, all of them open. Default: `<data>/keys`, made at first start.',
    secret: true,
  },
  logLevel: {
    env: 'ANNEAL_LOG_LEVEL',
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
    meaning: 'The least level of what is logged.',
  },
  logFormat: {
    env: 'ANNEAL_LOG_FORMAT',
    schema: z.enum(['json', 'pretty', 'auto']).default('auto'),
    meaning: 'One JSON object a line, or lines for people. `auto`: pretty on a terminal.',
  },
  healthPort: {
    env: 'ANNEAL_HEALTH_PORT',
    schema: z.coerce.number().int().min(0).max(65_535).default(0),
    meaning:
      'Port of /health/live, /health/ready and /metrics on the health host. 0: any free one; the log says which.',
  },
  healthHost: {
    env: 'ANNEAL_HEALTH_HOST',
    schema: z.string().default('127.0.0.1'),
    meaning: 'The address on which health and metrics are served.',
  },
  stopSeconds: {
    env: 'ANNEAL_STOP_SECONDS',
    schema: z.coerce.number().min(0).max(600).default(10),
    meaning: 'How long a stop waits for what is in flight before it is given back.',
  },
  otlpEndpoint: {
    env: 'ANNEAL_OTLP_ENDPOINT',
    schema: z.url().optional(),
    meaning:
      'Where traces are sent (OTLP over HTTP, e.g. http://127.0.0.1:4318/v1/traces). Default: nowhere; then tracing costs nothing.',
  },
  fault: {
    env: 'ANNEAL_FAULT',
    schema: z.string().optional(),
    meaning: 'For tests of recovery: `<fault point>:<kill|throw>[:<nth time>]`.',
  },
});
