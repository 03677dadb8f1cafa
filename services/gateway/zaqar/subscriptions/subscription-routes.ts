/**
 * Subscriptions to a queue in v2: by webhook, by mail, and by trust, which posts to an address of this server with the
 * rights of the user who subscribed.
 */
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
import { baseUrl, nextQueryOf } from '../../http/base-url.ts';
import { objectBody, queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import type { SubscriberTrusts } from '../../identity/subscriber-trusts.ts';
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
  subscriber: z.url().meta({
    description:
      'A webhook, `mailto:` and an address, or `trust+` and an address of this server, to which the messages are posted with the rights of the caller.',
  }),
  ttl: z.int().min(shortestTtl).max(longestTtl).nullish().meta({ description: 'Seconds.' }),
  options: z.looseObject({}).nullish(),
});

const schemes = ['http', 'https', 'mailto', 'trust+http', 'trust+https'];
const schemeList = `['${schemes.join("', '")}']`;

function checkSubscriber(subscriber: unknown): void {
  const scheme = typeof subscriber === 'string' ? (subscriber.split(':', 1)[0] ?? '') : '';
  if (schemes.includes(scheme)) {
    if (URL.canParse(String(subscriber))) return;
    throw invalid(`The subscriber ${JSON.stringify(subscriber)} is not a URL.`);
  }
  throw invalid(`The subscriber type of subscription must be supported in the list ${schemeList}.`);
}

const trusted = /^trust\+/;

/** @throws AnnealError InvalidRequest for an address of another server, which the token of the user must never reach */
function checkOwn(request: FastifyRequest, subscriber: string, gatewayUrl: string): void {
  const origins = [gatewayUrl, baseUrl(request)].map((each) => URL.parse(each)?.origin);
  if (origins.includes(URL.parse(subscriber.replace(trusted, ''))?.origin)) return;
  throw invalid(
    `A subscriber by trust must be an address of this server, ${gatewayUrl}, not ${JSON.stringify(subscriber)}.`,
  );
}

/** Deletes the subscriptions to a queue. Needs the notification service only when the queue ever had one. */
export async function removeSubscriptions(
  { ask, trusts }: { ask: Ask; trusts: SubscriberTrusts },
  { project, queue }: QueueAccess,
): Promise<void> {
  const view = await ask('configuration', queueShow, { project, data: { project, queue, or_empty: true } });
  if (view.notifies !== true) return;
  const { subscriptions } = await ask('notification', queueSubscriptionList, { project, data: { project, queue } });
  for (const { id } of subscriptions) await trusts.remove(id);
  await ask('notification', queueSubscriptionDelete, { project, data: { project, queue } });
}

export interface SubscriptionRouteOptions {
  readonly ask: Ask;
  readonly dialect: Dialect;
  readonly limits: QueueRequestLimits;
  readonly newId: () => string;
  readonly trusts: SubscriberTrusts;
  readonly gatewayUrl: string;
}

/** The queue and the subscription that a request names. */
const accessIn =
  (dialect: Dialect) =>
  (request: FastifyRequest): QueueAccess & { id: string; href: string } => {
    const access = queueFor(request, 'manage');
    const { subscription: id = '' } = request.params as { subscription?: string };
    return { ...access, id, href: `${queueHref(dialect, access.queue)}/subscriptions` };
  };

export function subscriptionRoutes(
  scope: FastifyInstance,
  { ask, dialect, limits, newId, trusts, gatewayUrl }: SubscriptionRouteOptions,
): void {
  const accessOf = accessIn(dialect);
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
    const byTrust = trusted.test(subscriber);
    if (byTrust) {
      checkOwn(request, subscriber, gatewayUrl);
      trusts.check(request);
    }
    // First, so that no message is posted without an event once the subscription exists.
    await ask('configuration', queueCreate, { project, data: { project, queue, notifies: true } });
    const data = { id: newId(), project, queue, subscriber, ttl, options };
    const made = await ask('notification', queueSubscriptionCreate, { project, data });
    // Without the trust, after a crash here, the posts are refused; the same request again makes it.
    if (byTrust) await trusts.make(request, { subscription: made.subscription_id, ttl });
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
    const next = last === undefined ? '' : nextQueryOf(request, { marker: last });
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
    const wanted = readSubscription(objectBody(request));
    const { subscriber, ttl } = wanted;
    const byTrust = subscriber !== undefined && trusted.test(subscriber);
    if (byTrust) {
      checkOwn(request, subscriber, gatewayUrl);
      trusts.check(request);
    }
    await ask('notification', queueSubscriptionUpdate, { project, data: { project, queue, id, ...wanted } });
    const [changed] = subscriber === undefined ? [] : await list({ project, queue }, id);
    if (byTrust) await trusts.make(request, { subscription: id, ttl: ttl ?? changed?.ttl ?? defaultTtl });
    else if (subscriber !== undefined) await trusts.remove(id);
    else if (ttl !== undefined) await trusts.extend(id, ttl);
    return reply.code(204).header('location', `${href}/${id}`).send();
  });

  scope.delete(one, described({ summary: 'Delete a subscription.' }), async (request, reply) => {
    const { project, queue, id } = accessOf(request);
    const [found] = await list({ project, queue }, id);
    if (found) await trusts.remove(id);
    await ask('notification', queueSubscriptionDelete, { project, data: { project, queue, id } });
    return reply.code(204).send();
  });
  confirmRoute(scope, { ask, dialect });
}

function confirmRoute(
  scope: FastifyInstance,
  { ask, dialect }: Pick<SubscriptionRouteOptions, 'ask' | 'dialect'>,
): void {
  const accessOf = accessIn(dialect);
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
