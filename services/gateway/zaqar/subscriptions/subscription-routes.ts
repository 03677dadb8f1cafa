/** Subscriptions to a queue in v2, by webhook and by mail. Zaqar's subscribers by trust are refused. */
import { queueCreate, queueShow } from '@anneal/contracts/calls/configuration.ts';
import {
  queueSubscriptionCreate,
  queueSubscriptionDelete,
  queueSubscriptionList,
  queueSubscriptionSchema,
  queueSubscriptionUpdate,
  type QueueSubscription,
} from '@anneal/contracts/calls/notification.ts';
import type { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { objectBody, queryValue } from '../../http/body.ts';
import { described } from '../../http/described.ts';
import { queueFor, type QueueAccess } from '../access.ts';
import { linksSchema, queueHref, type Dialect } from '../dialect.ts';
import { limitOf, limitQueries, type QueueRequestLimits } from '../limits.ts';
import { zaqarError } from '../wording.ts';

const all = '/queues/:queue/subscriptions';
const one = `${all}/:subscription`;
const confirmation = `${one}/confirm`;

const shortestTtl = 60;
const longestTtl = 10 * 365 * 86_400;
const defaultTtl = 3600;

const invalid = (description: string): AnnealError => zaqarError('InvalidRequest', 'Invalid API request', description);

/** A listener confirms with the headers that it has received instead of a token. */
export const isSigned = (request: FastifyRequest): boolean =>
  request.routeOptions.url?.endsWith(confirmation) === true && request.headers['url-signature'] !== undefined;

interface WantedFields {
  readonly subscriber?: string;
  readonly ttl?: number;
  readonly options?: JsonObject;
}

/** @throws AnnealError InvalidRequest in Zaqar's words, at the first mistake */
export function readSubscription(body: JsonObject): WantedFields {
  const { subscriber, ttl, options } = body;
  if (subscriber !== undefined && subscriber !== null) checkSubscriber(subscriber);
  if (options !== undefined && options !== null && !isObject(options)) throw invalid('Options must be a dict.');
  if (ttl !== undefined && ttl !== null) {
    if (typeof ttl !== 'number' || !Number.isInteger(ttl)) throw invalid('TTL must be an integer.');
    if (ttl < shortestTtl) throw invalid(`The TTL for a subscription must be at least ${shortestTtl} seconds long.`);
    if (ttl > longestTtl) throw invalid(`The TTL for a subscription may not exceed ${longestTtl} seconds.`);
  }
  return {
    ...(typeof subscriber === 'string' && { subscriber }),
    ...(typeof ttl === 'number' && { ttl }),
    ...(isObject(options) && { options }),
  };
}

const wantedSchema = z.object({
  subscriber: z.url().meta({ description: 'A webhook, or `mailto:` and an address.' }),
  ttl: z.int().min(shortestTtl).max(longestTtl).nullish().meta({ description: 'Seconds.' }),
  options: z.looseObject({}).nullish(),
});

const schemes = ['http', 'https', 'mailto'];
const schemeList = `['${schemes.join("', '")}']`;

function checkSubscriber(subscriber: unknown): void {
  const scheme = typeof subscriber === 'string' ? (subscriber.split(':', 1)[0] ?? '') : '';
  if (schemes.includes(scheme)) {
    if (URL.canParse(String(subscriber))) return;
    throw invalid(`The subscriber ${JSON.stringify(subscriber)} is not a URL.`);
  }
  throw invalid(
    scheme === 'trust+http' || scheme === 'trust+https'
      ? `This service has no subscribers of the type ${scheme}; the type of a subscriber must be in the list ${schemeList}.`
      : `The subscriber type of subscription must be supported in the list ${schemeList}.`,
  );
}

/** Deletes the subscriptions to a queue. Needs the notification service only when the queue ever had one. */
export async function removeSubscriptions(ask: Ask, { project, queue }: QueueAccess): Promise<void> {
  const view = await ask('configuration', queueShow, { project, data: { project, queue, or_empty: true } });
  if (view.notifies !== true) return;
  await ask('notification', queueSubscriptionDelete, { project, data: { project, queue } });
}

export function subscriptionRoutes(
  scope: FastifyInstance,
  { ask, dialect, limits, newId }: { ask: Ask; dialect: Dialect; limits: QueueRequestLimits; newId: () => string },
): void {
  const accessOf = (request: FastifyRequest): QueueAccess & { id: string; href: string } => {
    const access = queueFor(request, 'manage');
    const { subscription: id = '' } = request.params as { subscription?: string };
    return { ...access, id, href: `${queueHref(dialect, access.queue)}/subscriptions` };
  };
  const list = async ({ project, queue }: QueueAccess, id?: string): Promise<QueueSubscription[]> => {
    const data = { project, queue, ...(id !== undefined && { id }) };
    return (await ask('notification', queueSubscriptionList, { project, data })).subscriptions;
  };

  const creates = described({
    summary: 'Subscribe to a queue.',
    body: wantedSchema,
    status: 201,
    answer: z.object({ subscription_id: z.string() }),
  });
  scope.post(all, creates, async (request, reply) => {
    const { project, queue, href } = accessOf(request);
    const { subscriber, ttl = defaultTtl, options = {} } = readSubscription(objectBody(request));
    if (subscriber === undefined) throw invalid('Missing parameter subscriber in body.');
    // First, so that no message is posted without an event once the subscription exists.
    await ask('configuration', queueCreate, { project, data: { project, queue, notifies: true } });
    const data = { id: newId(), project, queue, subscriber, ttl, options };
    const made = await ask('notification', queueSubscriptionCreate, { project, data });
    return reply.code(201).header('location', href).send(made);
  });

  const lists = described({
    summary: 'List the subscriptions to a queue.',
    query: z.object({ limit: limitQueries(limits).limit, marker: z.string().optional() }),
    answer: z.object({ subscriptions: z.array(queueSubscriptionSchema), links: linksSchema }),
  });
  scope.get(all, lists, async (request) => {
    const access = accessOf(request);
    const limit = limitOf(request, limits);
    const marker = queryValue(request, 'marker');
    const found = await list(access);
    const start = marker === undefined ? 0 : found.findIndex(({ id }) => id === marker) + 1;
    const page = found.slice(start, start + limit);
    const last = page.at(-1)?.id ?? marker;
    const next = last === undefined ? '' : `?marker=${encodeURIComponent(last)}`;
    return { subscriptions: page, links: [{ rel: 'next', href: `${access.href}${next}` }] };
  });

  const shows = described({ summary: 'Show a subscription.', answer: queueSubscriptionSchema });
  scope.get(one, shows, async (request) => {
    const access = accessOf(request);
    const [found] = await list(access, access.id);
    if (!found) throw zaqarError('NotFound', 'Not found', `Subscription ${access.id} does not exist`);
    return found;
  });

  const changes = described({ summary: 'Change a subscription.', body: wantedSchema.partial().optional() });
  scope.patch(one, changes, async (request, reply) => {
    const { project, queue, id, href } = accessOf(request);
    const data = { project, queue, id, ...readSubscription(objectBody(request)) };
    await ask('notification', queueSubscriptionUpdate, { project, data });
    return reply.code(204).header('location', `${href}/${id}`).send();
  });

  scope.delete(one, described({ summary: 'Delete a subscription.' }), async (request, reply) => {
    const { project, queue, id } = accessOf(request);
    await ask('notification', queueSubscriptionDelete, { project, data: { project, queue, id } });
    return reply.code(204).send();
  });

  const confirms = described({ summary: 'Confirm a subscription.', body: z.object({ confirmed: z.boolean() }) });
  scope.put(confirmation, confirms, async (request, reply) => {
    const { confirmed } = objectBody(request);
    if (typeof confirmed !== 'boolean') throw invalid("The 'confirmed' should be boolean.");
    if (isSigned(request)) {
      const { queue = '', subscription: id = '' } = request.params as { queue?: string; subscription?: string };
      const expires = Number(request.headers['url-expires']);
      if (!Number.isInteger(expires)) throw invalid('The "URL-Expires" header must be a number of seconds.');
      const proof = { expires, signature: String(request.headers['url-signature']) };
      await ask('notification', queueSubscriptionUpdate, { data: { queue, id, confirmed, proof } });
      return reply.code(204).send();
    }
    const { project, queue, id, href } = accessOf(request);
    await ask('notification', queueSubscriptionUpdate, { project, data: { project, queue, id, confirmed } });
    return reply.code(204).header('location', `${href}/${id}/confirm`).send();
  });
}
