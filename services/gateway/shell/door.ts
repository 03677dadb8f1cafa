/**
 * Routes of hosts that have only a shell. Every call is a POST of a form, because the wget of busybox can do nothing
 * else, and holds the host's token as a field, because the arguments of a program are public on its machine.
 *
 * | call | fields | does |
 * | --- | --- | --- |
 * | `next?wait=45` | `client` | claims the first request of the host and answers with it as a script; empty without one |
 * | `started` | `id` | reports the start of a request |
 * | `config` | `id`, `input` | answers with the config of a request that only refers to it; with `input` with the JSON text of the value of that input |
 * | `report?wait=30` | `id`; a file for each piece of `stdout`, `stderr` or `outputs.<name>`, named by its offset | stores the pieces; answers with `stop=yes` or `no` and the stored sizes, and waits for a stop |
 * | `renew` | `claim`, `ttl` | keeps the claim |
 * | `answer` | those of an answer, `claim`, `message` | posts the answer and deletes the request |
 * | `hello` | `facts.<name>` | reports the facts of the machine |
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { queueClaimRenew, queueMessageDelete, queuePost, runConfig } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { Blobs } from '@anneal/store/port.ts';
import { default as multipart } from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseField } from '../http/input.ts';
import { authenticated, callerOf, ofHost, type HostCaller } from '../identity/caller.ts';
import { plainClient } from '../zaqar/access.ts';
import { claimWithin, type ClaimOptions } from '../zaqar/claims/claim.ts';
import { answerSeconds, readParts, formTexts, toResponse, type FormPart } from '../zaqar/response-form.ts';
import { reportRun, waitOf, withBytesStored } from './report.ts';
import { queueKey } from '../wakeups.ts';
import { doorPath, sendScript } from '../zaqar/claims/send-script.ts';

export interface DoorOptions extends ClaimOptions {
  blobs: Blobs;
  bodyLimit: number;
}

/** Seconds that a request stays with a host that died. */
const claimSeconds = 60;

interface Call {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly host: HostCaller;
  readonly fields: ReadonlyMap<string, string>;
  readonly parts: readonly FormPart[];
}

const idField = z.object({ id: z.string().min(1) });
const configFields = z.object({ id: z.string().min(1), input: z.string().min(1).max(255).optional() });
const renewFields = z.object({
  claim: z.string().min(1),
  ttl: z.coerce.number().int().min(1).max(43_200).default(claimSeconds),
});
const answerFields = z.object({ claim: z.string().optional(), message: z.string().min(1) });
const clientFields = z.object({ client: z.string().max(64).optional() });

/** The calls whose first effect is a call that carries the hash of the token (`ofHost`). */
const checkedCalls = new Set(['next', 'started', 'renew', 'hello', 'config']);

/** The compressed values of inputs in memory. */
const mostCompressed = 16;
const compress = promisify(gzip);

interface Door extends DoorOptions {
  readonly compressed: Recent<Promise<Buffer>>;
}

export function doorRoutes(scope: FastifyInstance, given: DoorOptions): void {
  const options: Door = { ...given, compressed: new Recent(mostCompressed) };
  scope.register(multipart, {
    limits: {
      fieldNameSize: 255,
      fieldSize: options.bodyLimit,
      fileSize: options.bodyLimit,
      fields: 200,
      files: 200,
      parts: 300,
    },
  });
  const calls: Record<string, (call: Call) => Promise<FastifyReply | string | undefined>> = {
    next: (call) => next(options, call),
    started: ({ host, fields }) => post(options, host, { id: read(idField, fields).id, progress: 'started' }),
    report: ({ request, host, fields, parts }) =>
      reportRun(options, { request, host, id: read(idField, fields).id, parts }),
    renew: async ({ host, fields }) => {
      const { claim, ttl } = read(renewFields, fields);
      const { project, requestsQueue: queue } = host;
      await options.ask('configuration', queueClaimRenew, {
        project,
        data: { ...ofHost(host), project, queue, claim_id: claim, ttl },
      });
      return undefined;
    },
    config: ({ request, reply, host, fields }) => {
      const { id, input } = read(configFields, fields);
      if (input === undefined) return configText(options, host, id);
      const acceptsGzip = request.headers['accept-encoding']?.includes('gzip') === true;
      return sendInput(options, { reply, host, run: id, input, acceptsGzip });
    },
    answer: (call) => answer(options, call),
    hello: ({ host, fields }) => {
      const facts = [...fields].flatMap(([name, value]) => (name.startsWith('facts.') ? [[name.slice(6), value]] : []));
      return post(options, host, { hello: true, facts: Object.fromEntries(facts) as Json });
    },
  };
  for (const [name, work] of Object.entries(calls)) {
    scope.post(`${doorPath}/${name}`, async (request, reply) => {
      const parts = await readParts(request);
      const fields = formTexts(parts);
      // From here on the request is one of the host, as if it had sent its token in the header.
      request.headers['x-auth-token'] = fields.get('token') ?? request.headers['x-auth-token'] ?? '';
      request.caller = await authenticated(request, options.authenticate, { remembered: checkedCalls.has(name) });
      const host = callerOf(request);
      if (host.kind !== 'host') {
        throw new AnnealError('Forbidden', 'Only a host can use this address; send the token of the host.');
      }
      const answered = await work({ request, reply, host, fields, parts });
      return typeof answered === 'string' ? reply.type('text/plain').send(answered) : (answered ?? reply.send(''));
    });
  }
}

const read = <T>(schema: z.ZodType<T>, fields: ReadonlyMap<string, string>): T =>
  parseField(schema, Object.fromEntries(fields), 'The form');

async function next(options: DoorOptions, { request, reply, host, fields }: Call): Promise<FastifyReply | undefined> {
  const access = { project: host.project, queue: host.requestsQueue };
  const { client } = read(clientFields, fields);
  // A host that claims again has lost its first claim, and gets the request again at once.
  const client_id = client === undefined ? host.id : plainClient(client);
  const wanted = { ttl: claimSeconds, grace: claimSeconds, limit: 1, client_id, by_reference: true };
  const claimed = await claimWithin(options, request, { access, wanted, wait: waitOf(request) });
  const configOf = (run: string): Promise<string> => configText(options, host, run);
  return claimed && sendScript(options.ask, { request, reply, access, claimed, ttl: claimSeconds, configOf });
}

async function answer(options: DoorOptions, { host, fields, parts }: Call): Promise<undefined> {
  const { claim, message } = read(answerFields, fields);
  const response = await withBytesStored(options, { host, parts, response: toResponse(fields, new Date()) });
  await post(options, host, response as unknown as Json);
  const { project, requestsQueue: queue } = host;
  const data = { ...ofHost(host), project, queue, ids: [message], ...(claim !== undefined && { claim_id: claim }) };
  await options.ask('configuration', queueMessageDelete, { project, data }).catch((error: unknown) => {
    // The service deletes an answered request too. A claim that ran out does not change that.
    if (!hasCode(error, 'NotFound', 'Forbidden')) throw error;
  });
  // Ends the report of this run that still waits for a stop.
  options.wakeups.wake(queueKey(project, queue));
}

/** The bytes of a config. They never pass the bus, because a thousand hosts may fetch them at once. */
async function configText(options: DoorOptions, host: HostCaller, run: string): Promise<string> {
  return JSON.parse(await storedText(options, await blobOf(options, host, { run }))) as string;
}

/** The JSON text of an input, compressed once for all hosts that fetch it. */
async function sendInput(
  options: Door,
  asked: { reply: FastifyReply; host: HostCaller; run: string; input: string; acceptsGzip: boolean },
): Promise<FastifyReply | string> {
  const { reply, host, run, input, acceptsGzip } = asked;
  const blob = await blobOf(options, host, { run, input });
  if (!acceptsGzip) return storedText(options, blob);
  const known = options.compressed.get(blob);
  const compressing = known ?? storedText(options, blob).then((text) => compress(text));
  if (!known) {
    options.compressed.set(blob, compressing);
    compressing.catch(() => options.compressed.delete(blob));
  }
  return reply
    .type('text/plain')
    .header('content-encoding', 'gzip')
    .send(await compressing);
}

const blobOf = async (
  { ask }: DoorOptions,
  host: HostCaller,
  wanted: { run: string; input?: string },
): Promise<string> =>
  (await ask('configuration', runConfig, { project: host.project, data: { ...ofHost(host), ...wanted } })).blob;

async function storedText({ blobs }: DoorOptions, blob: string): Promise<string> {
  const stored = await blobs.getText(blob);
  if (stored === undefined)
    throw new AnnealError('Unavailable', `The store does not have content ${blob} of a request.`);
  return stored.slice(stored.indexOf('\n') + 1);
}

async function post({ ask }: DoorOptions, host: HostCaller, body: Json): Promise<undefined> {
  const { id, project, responsesQueue: queue } = host;
  const messages = [{ body, ttl: answerSeconds }];
  await ask('configuration', queuePost, {
    project,
    data: { ...ofHost(host), project, queue, client_id: id, messages },
  });
}
