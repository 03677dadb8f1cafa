/**
 * Subscriptions to a queue in v2: by webhook, by mail, and by trust, which posts to an address of this server with the
 * rights of the user who subscribed.
 */
import { queueCreate, queueShow } from '@anneal/contracts/calls/queues.ts';
import {
  queueSubscriptionCreate,
  queueSubscriptionDelete,
  queueSubscriptionList,
  queueSubscriptionSchema,
  queueSubscriptionUpdate,
  type QueueSubscription,
} from '@anneal/contracts/calls/queue-subscriptions.ts';
import { AnnealError, kindOf } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl, nextQueryOf } from '../../http/base-url.ts';
import { takePage } from '../../http/list.ts';
import { route, type Route } from '../../http/route.ts';
import type { SubscriberTrusts } from '../../identity/subscriber-trusts.ts';
import { clientHeaders, queueFor, type QueueAccess } from '../access.ts';
import { mustBeObject, orAbsent, orNothing } from '../bodies.ts';
import { linksSchema, queueHref, type Dialect, type QueueRouteOptions } from '../dialect.ts';
import { limitQueries } from '../limits.ts';
import { zaqarError } from '../wording.ts';

const all = '/queues/{queue}/subscriptions';
const one = `${all}/{subscription}` as const;
const confirmation = `${one}/confirm` as const;

const shortestTtl = 60;
const longestTtl = 10 * 365 * 86_400;
const defaultTtl = 3600;

/** A listener confirms with the headers that it has received instead of a token. */
export const isSigned = ({ routeOptions, headers }: FastifyRequest): boolean =>
  routeOptions.config.declared?.path === confirmation && headers['url-signature'] !== undefined;

const schemes = ['http', 'https', 'mailto', 'trust+http', 'trust+https'];
const schemeList = `['${schemes.join("', '")}']`;
const otherScheme = `The subscriber type of subscription must be supported in the list ${schemeList}.`;

const subscriberText =
  'A webhook, `mailto:` and an address, or `trust+` and an address of this server, to which the messages are posted with the rights of the caller.';
const subscriberField = z
  .string({
    error: ({ input }) =>
      input === undefined || input === null ? 'Missing parameter subscriber in body.' : otherScheme,
  })
  .refine((text) => schemes.includes(text.split(':', 1)[0] ?? ''), { error: otherScheme, abort: true })
  .refine((text) => URL.canParse(text), {
    error: ({ input }) => `The subscriber ${JSON.stringify(input)} is not a URL.`,
  })
  .meta({ format: 'uri', description: subscriberText });

const noEnd = 'The "URL-Expires" header must be a number of seconds.';

const optionalFields = {
  ttl: orAbsent(
    z
      .int({ error: 'TTL must be an integer.' })
      .min(shortestTtl, { error: `The TTL for a subscription must be at least ${shortestTtl} seconds long.` })
      .max(longestTtl, { error: `The TTL for a subscription may not exceed ${longestTtl} seconds.` }),
  ).meta({ description: 'Seconds.' }),
  options: orAbsent(z.object({}, { error: 'Options must be a dict.' }).catchall(json)),
};
const newSubscription = z.object({ subscriber: subscriberField, ...optionalFields }, mustBeObject);
const changedSubscription = z.object(
  { subscriber: orAbsent(subscriberField).meta({ description: subscriberText }), ...optionalFields },
  mustBeObject,
);

const trusted = /^trust\+/;

/** @throws AnnealError InvalidRequest for an address of another server, which the token of the user must never reach */
function checkOwn(request: FastifyRequest, subscriber: string, gatewayUrl: string): void {
  const origins = [gatewayUrl, baseUrl(request)].map((each) => URL.parse(each)?.origin);
  if (origins.includes(URL.parse(subscriber.replace(trusted, ''))?.origin)) return;
  const shown = JSON.stringify(subscriber);
  throw new AnnealError(
    'InvalidRequest',
    `A subscriber by trust must be an address of this server, ${gatewayUrl}, not ${shown}.`,
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

export interface SubscriptionRouteOptions extends QueueRouteOptions {
  readonly newId: () => string;
  readonly gatewayUrl: string;
}

/** The address of the subscriptions to a queue. */
const subscriptionsHref = (dialect: Dialect, queue: string): string => `${queueHref(dialect, queue)}/subscriptions`;

const listSubscriptions = async (ask: Ask, access: QueueAccess, id?: string): Promise<QueueSubscription[]> => {
  const { project, queue } = access;
  return (await ask('notification', queueSubscriptionList, { project, data: { project, queue, id } })).subscriptions;
};

/** Whether the subscriber is one by trust. @throws AnnealError for one that the user may not have */
function checkTrust(
  { trusts, gatewayUrl }: SubscriptionRouteOptions,
  request: FastifyRequest,
  subscriber: string | undefined,
): boolean {
  if (subscriber === undefined || !trusted.test(subscriber)) return false;
  checkOwn(request, subscriber, gatewayUrl);
  trusts.check(request);
  return true;
}

export const subscriptionRoutes = (options: SubscriptionRouteOptions): Route[] => [
  createRoute(options),
  ...showRoutes(options),
  ...changeRoutes(options),
  confirmRoute(options),
];

const createRoute = (options: SubscriptionRouteOptions): Route =>
  route({
    method: 'POST',
    path: all,
    summary: 'Subscribe to a queue.',
    body: orNothing(newSubscription),
    status: 201,
    answer: z.object({ subscription_id: z.string() }),
    handle: async ({ body, request, reply }) => {
      const { ask, dialect, newId, trusts } = options;
      const { project, queue } = queueFor(request, 'manage');
      const { subscriber, ttl = defaultTtl, options: wanted = {} } = body;
      const byTrust = checkTrust(options, request, subscriber);
      const data = { id: newId(), project, queue, subscriber, ttl, options: wanted };
      // First, because a subscription that is refused must not create a queue.
      const made = await ask('notification', queueSubscriptionCreate, { project, data });
      try {
        // Messages have events before the client knows of the subscription. After a crash here, the same request again does it.
        await ask('configuration', queueCreate, { project, data: { project, queue, notifies: true } });
      } catch (error) {
        const isRefused = kindOf(error) !== 'retry' && made.subscription_id === data.id;
        const subscription = { project, queue, id: data.id };
        if (isRefused) await ask('notification', queueSubscriptionDelete, { project, data: subscription });
        throw error;
      }
      // Without the trust, after a crash here, the posts are refused; the same request again makes it.
      if (byTrust) await trusts.make(request, { subscription: made.subscription_id, ttl });
      void reply.header('location', subscriptionsHref(dialect, queue));
      return made;
    },
  });

const showRoutes = ({ ask, dialect, limits }: SubscriptionRouteOptions): Route[] => [
  route({
    method: 'GET',
    path: all,
    summary: 'List the subscriptions to a queue.',
    query: z.object({ limit: limitQueries(limits).limit, marker: z.string().optional() }),
    answer: z.object({ subscriptions: z.array(queueSubscriptionSchema), links: linksSchema }),
    handle: async ({ query, request }) => {
      const access = queueFor(request, 'manage');
      const found = await listSubscriptions(ask, access);
      const { rows } = takePage(found, query, { idOf: ({ id }) => id, unknownMarker: 'ignored' });
      const last = rows.at(-1)?.id ?? query.marker;
      const next = last === undefined ? '' : nextQueryOf(request, { marker: last });
      return {
        subscriptions: rows,
        links: [{ rel: 'next', href: `${subscriptionsHref(dialect, access.queue)}${next}` }],
      };
    },
  }),
  route({
    method: 'GET',
    path: one,
    summary: 'Show a subscription.',
    answer: queueSubscriptionSchema,
    handle: async ({ params: { subscription: id }, request }) => {
      const [found] = await listSubscriptions(ask, queueFor(request, 'manage'), id);
      if (found) return found;
      throw zaqarError('NotFound', 'Not found', `Subscription ${id} does not exist`);
    },
  }),
];

const changeRoutes = (options: SubscriptionRouteOptions): Route[] => {
  const { ask, dialect, trusts } = options;
  return [
    route({
      method: 'PATCH',
      path: one,
      summary: 'Change a subscription.',
      body: orNothing(changedSubscription),
      handle: async ({ params: { subscription: id }, body, request, reply }) => {
        const { project, queue } = queueFor(request, 'manage');
        const { subscriber, ttl } = body;
        const byTrust = checkTrust(options, request, subscriber);
        await ask('notification', queueSubscriptionUpdate, { project, data: { project, queue, id, ...body } });
        const [changed] = subscriber === undefined ? [] : await listSubscriptions(ask, { project, queue }, id);
        if (byTrust) await trusts.make(request, { subscription: id, ttl: ttl ?? changed?.ttl ?? defaultTtl });
        else if (subscriber !== undefined) await trusts.remove(id);
        else if (ttl !== undefined) await trusts.extend(id, ttl);
        void reply.header('location', `${subscriptionsHref(dialect, queue)}/${id}`);
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      summary: 'Delete a subscription.',
      handle: async ({ params: { subscription: id }, request }) => {
        const { project, queue } = queueFor(request, 'manage');
        const [found] = await listSubscriptions(ask, { project, queue }, id);
        if (found) await trusts.remove(id);
        await ask('notification', queueSubscriptionDelete, { project, data: { project, queue, id } });
      },
    }),
  ];
};

const confirmRoute = ({ ask, dialect }: SubscriptionRouteOptions): Route =>
  route({
    method: 'PUT',
    path: confirmation,
    summary: 'Confirm a subscription.',
    headers: clientHeaders(dialect).extend({
      'url-signature': z.string().optional().meta({ description: 'The signature that a listener got.' }),
      'url-expires': z
        .int({ error: noEnd })
        .optional()
        .meta({ description: 'The end of the signature that a listener got, in seconds.' }),
    }),
    body: orNothing(z.object({ confirmed: z.boolean({ error: "The 'confirmed' should be boolean." }) }, mustBeObject)),
    handle: async ({ params, headers, body: { confirmed }, request, reply }) => {
      const { queue, subscription: id } = params;
      const { 'url-signature': signature, 'url-expires': expires } = headers;
      if (signature === undefined) {
        const access = queueFor(request, 'manage');
        const data = { project: access.project, queue: access.queue, id, confirmed };
        await ask('notification', queueSubscriptionUpdate, { project: access.project, data });
        void reply.header('location', `${subscriptionsHref(dialect, access.queue)}/${id}/confirm`);
        return;
      }
      if (expires === undefined) throw new AnnealError('InvalidRequest', noEnd);
      await ask('notification', queueSubscriptionUpdate, {
        data: { queue, id, confirmed, proof: { expires, signature } },
      });
    },
  });
