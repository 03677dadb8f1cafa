/** The settings of every process, whichever services it runs. */
import { z } from 'zod';
import { holdsCredentials } from '@anneal/contracts/address.ts';
import { defaultDepth, defaultEvaluation, defaultResources, limitSettings } from '@anneal/hot/limits.ts';
import { defineSettings } from './settings.ts';

const limit = (fallback: number) => z.coerce.number().int().min(-1).default(fallback);

/** The limits of the evaluation of templates and workflows, which are the same wherever one is evaluated. */
export const evaluationSettings = defineSettings({
  elements: {
    env: limitSettings.elements,
    schema: limit(defaultEvaluation.elements),
    meaning:
      "Maximum number of items of a list that an expression of `yaql` reads; -1 means no limit. Heat's `limit_iterators`; TripleO needs 10000. A workflow may read 10000, or this when it is more.",
    cost: 'A longer list takes more work, which ANNEAL_EVALUATION_WORK limits.',
  },
  memory: {
    env: limitSettings.memory,
    schema: limit(defaultEvaluation.memory),
    meaning:
      "Maximum size, in bytes, of a text or list that an expression of `yaql` makes; -1 means no limit. Heat's `memory_quota`; TripleO needs 1000000. A workflow may make 4000000, or this when it is more.",
    cost: 'Each evaluation may take several times this much memory.',
  },
  work: {
    env: limitSettings.work,
    schema: z.coerce.number().int().min(10_000).default(defaultEvaluation.work),
    meaning:
      'Maximum number of values that the compilation of a template with its nested stacks, the evaluation of one resource, or that of the outputs of one stack may make and read. A preview may use a tenth of it, a value of a workflow a hundredth.',
    cost: '5000000 take 1 to 2 s of one core.',
  },
});

/** The limits of a template with its nested stacks. The templating service has them, and so have offline commands. */
export const templateSettings = defineSettings({
  maxResources: {
    env: 'ANNEAL_TEMPLATING_MAX_RESOURCES',
    schema: z.coerce.number().int().min(-1).default(defaultResources),
    meaning: 'Maximum number of resources of a stack and its nested stacks together; -1 means no limit.',
    cost: 'A higher value lets one stack take more memory and time of every service.',
  },
  maxDepth: {
    env: 'ANNEAL_TEMPLATING_MAX_DEPTH',
    schema: z.coerce.number().int().min(0).max(50).default(defaultDepth),
    meaning: 'Maximum number of levels of nested stacks; TripleO needs 7.',
    cost: 'Each level multiplies the resources that a few small templates can create.',
  },
});

/**
 * Settings that have the prefix of a service which read them in version 0.1.0, and are another one's now. Their names stay,
 * so that each environment file stays valid; the processes that do not read them ignore them.
 */
export const movedSettings: readonly string[] = [
  'ANNEAL_GATEWAY_ADMIN_PASSWORD',
  'ANNEAL_GATEWAY_OIDC_ISSUER',
  'ANNEAL_GATEWAY_OIDC_CLIENT_ID',
  'ANNEAL_GATEWAY_OIDC_CLIENT_SECRET',
  'ANNEAL_GATEWAY_OIDC_AUDIENCE',
  'ANNEAL_GATEWAY_OIDC_SCOPES',
  'ANNEAL_GATEWAY_OIDC_NAME',
  'ANNEAL_GATEWAY_OIDC_NAME_CLAIM',
  'ANNEAL_GATEWAY_OIDC_GROUPS_CLAIM',
  'ANNEAL_GATEWAY_OIDC_ROLES',
  'ANNEAL_GATEWAY_OIDC_USERS',
];

/** The settings that every service has. */
export const sharedSettings = defineSettings({
  dataDirectory: {
    env: 'ANNEAL_DATA',
    schema: z.string().default('.anneal'),
    meaning: 'Folder for the files of this process: the embedded broker and store, keys and credentials.',
  },
  busUrl: {
    env: 'ANNEAL_BUS_URL',
    schema: z.string().optional(),
    meaning: 'URL of the broker; the scheme selects the adapter. Default: embedded, `sqlite:<data>/bus.db`.',
    cost: '`?synchronous=full` makes every commit survive a power failure, at about a tenth of the speed.',
  },
  storeUrl: {
    env: 'ANNEAL_STORE_URL',
    schema: z.string().optional(),
    meaning: 'URL of the database; the scheme selects the adapter. Default: embedded, `sqlite:<data>/store.db`.',
    cost: '`?synchronous=full` makes every commit survive a power failure, at about a tenth of the speed.',
  },
  claimCheckSeconds: {
    env: 'ANNEAL_CLAIM_CHECK_SECONDS',
    schema: z.coerce.number().int().min(60).max(31_536_000).default(3600),
    meaning:
      'How long the data of a message above 256 KiB stays in the store after the message was handled. A message that waits, or is a dead letter, keeps its data.',
    cost: 'Longer takes more room; shorter, and a duplicate that a broker delivers later finds no data and becomes a dead letter.',
  },
  gatewayUrl: {
    env: 'ANNEAL_GATEWAY_URL',
    schema: z
      .url()
      .refine((text) => !holdsCredentials(text), 'must not contain a user or password, because every client sees it')
      .default('http://127.0.0.1:8470'),
    meaning: 'Address at which hosts and clients reach the gateway. Hosts receive it when they boot.',
  },
  region: {
    env: 'ANNEAL_GATEWAY_REGION',
    schema: z.string().min(1).default('RegionOne'),
    meaning: 'Region name in the service catalog; remote stacks can be created only in this region.',
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
      'Keys for secrets at rest, in base64. The first key seals, every key opens. Default: `<data>/keys`, created at the first start.',
    secret: true,
  },
  logLevel: {
    env: 'ANNEAL_LOG_LEVEL',
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
    meaning: 'Minimum log level.',
  },
  logFormat: {
    env: 'ANNEAL_LOG_FORMAT',
    schema: z.enum(['json', 'pretty', 'auto']).default('auto'),
    meaning: 'Log format: one JSON object per line, or pretty lines for people. `auto`: pretty on a terminal.',
  },
  healthPort: {
    env: 'ANNEAL_HEALTH_PORT',
    schema: z.coerce.number().int().min(0).max(65_535).default(0),
    meaning: 'Port of /health/live, /health/ready and /metrics. 0: a free port, shown in the log.',
  },
  healthHost: {
    env: 'ANNEAL_HEALTH_HOST',
    schema: z.string().default('127.0.0.1'),
    meaning: 'Address that serves health and metrics.',
  },
  stopSeconds: {
    env: 'ANNEAL_STOP_SECONDS',
    schema: z.coerce.number().min(0).max(600).default(10),
    meaning: 'How long a stop waits for messages in flight before it releases them.',
  },
  otlpEndpoint: {
    env: 'ANNEAL_OTLP_ENDPOINT',
    schema: z.url().optional(),
    meaning:
      'Collector that receives traces (OTLP over HTTP, e.g. http://127.0.0.1:4318/v1/traces). Default: none; then tracing costs nothing.',
  },
  fault: {
    env: 'ANNEAL_FAULT',
    schema: z.string().optional(),
    meaning: 'For tests of recovery: `<fault point>:<kill|throw>[:<nth time>]`.',
  },
  ...evaluationSettings,
});
