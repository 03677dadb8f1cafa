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
import { queueClaimRenew, queueMessageDelete, queuePost } from '@anneal/contracts/calls/queues.ts';
import { runConfig } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { Blobs } from '@anneal/store/port.ts';
import { default as multipart } from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { authenticated, callerOf, ofHost, type HostCaller } from '../identity/caller.ts';
import { plainClient } from '../zaqar/access.ts';
import { claimWithin, type ClaimOptions } from '../zaqar/claims/claim.ts';
import { waitQuery } from '../zaqar/limits.ts';
import {
  answerSeconds,
  fieldsAsSent,
  formTexts,
  hasAnswer,
  readParts,
  toResponse,
  type FormPart,
} from '../zaqar/response-form.ts';
import { requireHost } from './push.ts';
import { reportRun, withBytesStored } from './report.ts';
import { queueKey } from '../wakeups.ts';
import { doorPath, sendScript } from '../zaqar/claims/send-script.ts';

export interface DoorOptions extends ClaimOptions {
  blobs: Blobs;
  bodyLimit: number;
}

/** Seconds that a request stays with a host that died. */
const claimSeconds = 60;

/** The compressed values of inputs in memory. */
const mostCompressed = 16;
const compress = promisify(gzip);

interface Door extends DoorOptions {
  readonly compressed: Recent<Promise<Buffer>>;
}

/** Serves the calls. From the reading of its form on, a request is one of the host, as if it had sent its token in the header. */
export function serveDoor(scope: FastifyInstance, given: DoorOptions): void {
  const options: Door = { ...given, compressed: new Recent(mostCompressed) };
  void scope.register((forms, _options, done) => {
    forms.register(multipart, {
      limits: {
        fieldNameSize: 255,
        fieldSize: options.bodyLimit,
        fileSize: options.bodyLimit,
        fields: 200,
        files: 200,
        parts: 300,
      },
    });
    forms.addHook('preValidation', async (request) => {
      const parts = await readParts(request);
      const fields = formTexts(parts);
      request.headers['x-auth-token'] = fields.get('token') ?? request.headers['x-auth-token'] ?? '';
      const remembered = request.routeOptions.config.checksHost === true;
      request.caller = requireHost(await authenticated(request, options.authenticate, { remembered }));
      request.body = { ...Object.fromEntries(fields), parts };
    });
    serveRoutes(forms, [...requestRoutes(options), ...runRoutes(options)]);
    done();
  });
}

const hostOf = (request: FastifyRequest): HostCaller => requireHost(callerOf(request));

const form = { method: 'POST', bodyType: 'multipart/form-data', answer: z.string(), answerType: 'text/plain' } as const;
/** A call whose first effect is a call that carries the hash of the token (`ofHost`). */
const checkedForm = { ...form, checksHost: true } as const;

const id = z.string().min(1);
/** The fields and files as they came, for a call that reads bytes, or fields by the begin of their names. */
const parts = z.array(z.custom<FormPart>());
const waits = z.object({ wait: waitQuery });
const rebootNumber = z.coerce.number().int().min(1).max(1000).optional();

/** The calls for the requests in the queue of a host. */
const requestRoutes = (options: Door): Route[] => [
  route({
    ...checkedForm,
    path: `${doorPath}/next`,
    summary: 'Claim the first request of the host as a script; empty without one.',
    query: waits,
    body: z.object({ client: z.string().max(64).optional() }),
    handle: async ({ query: { wait }, body: { client }, request, reply }) => {
      const host = hostOf(request);
      const access = { project: host.project, queue: host.requestsQueue };
      // A host that claims again has lost its first claim, and gets the request again at once.
      const client_id = client === undefined ? host.id : plainClient(client);
      const wanted = { ttl: claimSeconds, grace: claimSeconds, limit: 1, client_id, by_reference: true };
      const claimed = await claimWithin(options, request, { access, wanted, wait });
      if (!claimed) return '';
      const configOf = (run: string): Promise<string> => configText(options, host, run);
      return sendScript(options.ask, { request, reply, access, claimed, ttl: claimSeconds, configOf });
    },
  }),
  route({
    ...checkedForm,
    path: `${doorPath}/renew`,
    summary: 'Keep the claim.',
    body: z.object({
      claim: z.string().min(1),
      ttl: z.coerce.number().int().min(1).max(43_200).default(claimSeconds),
    }),
    handle: async ({ body: { claim, ttl }, request }) => {
      const host = hostOf(request);
      const { project, requestsQueue: queue } = host;
      const data = { ...ofHost(host), project, queue, claim_id: claim, ttl };
      await options.ask('configuration', queueClaimRenew, { project, data });
      return '';
    },
  }),
  route({
    ...form,
    path: `${doorPath}/answer`,
    summary: 'Post the answer to a request, and delete the request.',
    body: z.object({ claim: z.string().optional(), message: z.string().min(1), parts }),
    handle: ({ body, request }) => answer(options, hostOf(request), body),
  }),
  route({
    ...checkedForm,
    path: `${doorPath}/hello`,
    summary: 'Report the facts of the machine.',
    body: z.object({ parts }),
    handle: ({ body, request }) => {
      const facts = [...formTexts(body.parts)].flatMap(([name, value]) =>
        name.startsWith('facts.') ? [[name.slice(6), value]] : [],
      );
      return post(options, hostOf(request), { hello: true, facts: Object.fromEntries(facts) as Json });
    },
  }),
];

/** The calls about the run of a request. */
const runRoutes = (options: Door): Route[] => [
  route({
    ...checkedForm,
    path: `${doorPath}/started`,
    summary: 'Report the start of a request, or that the host reboots for it.',
    body: z.object({ id, reboot: rebootNumber, over: z.enum(['', 'yes']).optional() }),
    handle: ({ body: { id: run, reboot: number, over }, request }) =>
      post(options, hostOf(request), {
        id: run,
        progress: 'started',
        ...(number !== undefined && { reboot: { number, ...(over === 'yes' && { over: true }) } }),
      }),
  }),
  route({
    ...form,
    path: `${doorPath}/report`,
    summary: 'Store pieces of streams and outputs, and wait for a stop.',
    query: waits,
    body: z.object({ id, parts }),
    handle: ({ query, body, request }) => reportRun(options, { request, host: hostOf(request), ...query, ...body }),
  }),
  route({
    ...checkedForm,
    path: `${doorPath}/config`,
    summary: 'Show the config of a request that refers to it, or one of its inputs.',
    headers: z.object({ 'accept-encoding': z.string().default('') }),
    body: z.object({ id, input: z.string().min(1).max(255).optional() }),
    handle: ({ headers, body: { id: run, input }, request, reply }) => {
      const host = hostOf(request);
      if (input === undefined) return configText(options, host, run);
      const acceptsGzip = headers['accept-encoding'].includes('gzip');
      return sendInput(options, { reply, host, run, input, acceptsGzip });
    },
  }),
];

async function answer(
  options: DoorOptions,
  host: HostCaller,
  given: { claim?: string | undefined; message: string; parts: readonly FormPart[] },
): Promise<string> {
  const { claim, message, parts: sent } = given;
  const fields = formTexts(sent);
  if (!hasAnswer(fields)) return post(options, host, fieldsAsSent(fields));
  const answered = toResponse(fields, new Date());
  const response = await withBytesStored(options, { host, parts: sent, response: answered });
  await post(options, host, response as unknown as Json);
  const { project, requestsQueue: queue } = host;
  const data = { ...ofHost(host), project, queue, ids: [message], ...(claim !== undefined && { claim_id: claim }) };
  await options.ask('configuration', queueMessageDelete, { project, data }).catch((error: unknown) => {
    // The service deletes an answered request too. A claim that ran out does not change that.
    if (!hasCode(error, 'NotFound', 'Forbidden')) throw error;
  });
  // Ends the report of this run that still waits for a stop.
  options.wakeups.wake(queueKey(project, queue));
  return '';
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

async function post({ ask }: DoorOptions, host: HostCaller, body: Json): Promise<string> {
  const { id: client_id, project, responsesQueue: queue } = host;
  const messages = [{ body, ttl: answerSeconds }];
  await ask('configuration', queuePost, {
    project,
    data: { ...ofHost(host), project, queue, client_id, messages },
  });
  return '';
}
