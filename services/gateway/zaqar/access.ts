/**
 * Resolves the queue that a caller names, and checks access.
 *
 * A user works in the queues of the project. A host has two queues and three names for them: the full name;
 * `<host>.requests` and `<host>.responses`; and `<host>` alone, which means the requests for taking and the responses
 * for posting. `<host>` is its id or its name. `answer-<request id>` is the responses queue too, for clients whose
 * answers have no id.
 */
import { looseUuid } from '@anneal/contracts/readers/uuid.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { answerQueue } from '@anneal/contracts/queues.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, projectOf, type Caller, type HostCaller, type SignallerCaller } from '../identity/caller.ts';
import type { Dialect } from './dialect.ts';
import { queueNameOf } from './queues/queue-alias.ts';
import { zaqarError } from './wording.ts';

export type Use = 'take' | 'post' | 'manage';

export interface QueueAccess {
  readonly project: string;
  /** The name of the queue in the configuration service. */
  readonly queue: string;
  /** The request that every message posted there answers, when the name of the queue contains it. */
  readonly answers?: string;
}

const answerTo = new RegExp(`^${answerQueue('([0-9a-f-]{36})')}$`);
const queueName = /^[A-Za-z0-9_.-]{1,255}$/;
const longestName = 64;
/** Names of hosts may be longer. */
const hostSuffix = /\.(requests|responses)$/;

/** @throws AnnealError InvalidRequest for an invalid name, Forbidden for a queue of another host. */
export function queueFor(request: FastifyRequest, use: Use): QueueAccess {
  const { queue: given } = request.params as { queue: string };
  const queue = queueNameOf(given);
  if (!queueName.test(queue)) {
    throw zaqarError(
      'InvalidRequest',
      'Invalid queue identification',
      `The name of a queue must have 1 to 255 letters, digits, "_", "-" and "."; "${queue.slice(0, 255)}" has other characters.`,
    );
  }
  if (queue.length > longestName && !hostSuffix.test(queue)) {
    throw zaqarError(
      'InvalidRequest',
      'Invalid queue identification',
      `The name of a queue must have at most ${longestName} characters; "${queue.slice(0, 80)}…" has ${queue.length}.`,
    );
  }
  const caller = callerOf(request);
  const project = projectOf(request);
  if (caller.kind !== 'host') return { project, queue };
  const answers = use === 'post' ? answerTo.exec(queue)?.[1] : undefined;
  return answers === undefined
    ? { project, queue: queueOfHost(caller, queue, use) }
    : { project, queue: caller.responsesQueue, answers };
}

/** The host id of the caller, for calls whose answer depends on it. */
export function asHost(request: FastifyRequest): { host_id?: string } {
  const caller = callerOf(request);
  return caller.kind === 'host' ? { host_id: caller.id } : {};
}

export function queueOfHost(host: HostCaller, name: string, use: Use): string {
  const { id, requestsQueue, responsesQueue } = host;
  const either = name === id || name === host.name;
  const mine = (full: string, suffix: string): boolean =>
    name === full || name === `${id}.${suffix}` || name === `${host.name}.${suffix}`;
  if (use === 'take' && (either || mine(requestsQueue, 'requests'))) return requestsQueue;
  if (use === 'post' && (either || mine(responsesQueue, 'responses'))) return responsesQueue;
  throw new AnnealError(
    'Forbidden',
    `Host ${host.name} may take from ${requestsQueue} and post to ${responsesQueue}; it may not ${use === 'take' ? 'take from' : use === 'post' ? 'post to' : 'manage'} ${name}.`,
  );
}

/** The queue of a signaller: its resource, or its run. A message posted there becomes a signal and is not kept. */
export function signalQueueOf(request: FastifyRequest, { grant }: SignallerCaller): string {
  const { queue } = request.params as { queue: string };
  const own = grant.run ? answerQueue(grant.run.id) : grant.resource_id;
  if (queueNameOf(queue) === own) return own;
  throw new AnnealError('Forbidden', `This token may only post to the queue ${own}.`);
}

/** The client's own, unverified id. It only decides which messages are an echo. Empty: absent. */
const clientIdHeader = z.preprocess(
  (given) => given ?? '',
  z
    .string()
    .refine((id) => id === '' || looseUuid.test(id), { error: 'Malformed hexadecimal UUID.' })
    .meta({
      description: 'A UUID of the client, so that it need not see its own messages. Hosts need none.',
      pattern: looseUuid.source,
    })
    .transform((id) => plainClient(id)),
);

/** The headers of every request. The schema accepts an absent `Client-ID`, because only {@link requireClientId} knows the caller. */
export const clientHeaders = ({ clientIdRequired }: Dialect) =>
  z.object({ 'client-id': clientIdRequired ? clientIdHeader : clientIdHeader.default('') });

/** @throws AnnealError InvalidRequest for a user without a `Client-ID`, unless the dialect does not need one */
export function requireClientId({ caller, headers }: FastifyRequest, { clientIdRequired }: Dialect): void {
  const given = headers['client-id'] ?? '';
  if (given !== '' || !clientIdRequired || caller?.kind !== 'user') return;
  throw zaqarError('InvalidRequest', 'Missing header value', 'The "Client-ID" header is required.');
}

/** The id of a client. A host without a `Client-ID` counts as one program, known by its host id. */
export const clientOf = (caller: Caller, given: string): string =>
  given !== '' || caller.kind !== 'host' ? given : caller.id;

/** An id of a client in the one form that claims compare, because the agents of one host write it differently. */
export const plainClient = (id: string): string => id.replaceAll('-', '').toLowerCase();
