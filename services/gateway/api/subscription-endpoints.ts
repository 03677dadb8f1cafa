/** Subscriptions and their deliveries. */
import { eventScopeFields, filtersOfScope } from '@anneal/contracts/event-scope.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import {
  attemptList,
  attemptSchema,
  deliveryList,
  deliveryReplay,
  deliveryViewSchema,
} from '@anneal/contracts/calls/deliveries.ts';
import {
  eventGapSchema,
  mostWindowSeconds,
  subscriptionAct,
  subscriptionConfirm,
  subscriptionCreate,
  subscriptionDelete,
  subscriptionList,
  subscriptionReplay,
  subscriptionRotate,
  subscriptionShow,
  subscriptionTest,
  subscriptionViewSchema,
} from '@anneal/contracts/calls/subscriptions.ts';
import { sealText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';
import { eventsProjectField, type OtherProjects } from '../identity/other-projects.ts';

const subscribeSchema = z.strictObject({
  name: z.string().max(255).default(''),
  url: z.url({
    protocol: /^(https?|queue|amqps?|nats|tls|mailto|config)$/,
    error:
      'must be an address that begins with https://, http://, queue:, amqps://, amqp://, nats://, tls://, mailto: or config:',
  }),
  credentials: z.string().min(1).max(1024).optional(),
  format: z.enum(['cloudevents', 'heat']).optional(),
  mode: z.enum(['structured', 'binary']).optional(),
  confirm: z.boolean().optional(),
  condense: z.enum(['latest', 'digest']).optional(),
  window_seconds: z.number().int().min(1).max(mostWindowSeconds).optional(),
  on_refusal: z.enum(['block', 'skip']).optional(),
  dead_letter: z
    .url({ protocol: /^(https?|queue)$/, error: 'must be an address that begins with https://, http:// or queue:' })
    .optional(),
  types: z.array(z.string().min(1)).min(1).default(['#']),
  project: eventsProjectField,
  subject_prefix: z.string().default(''),
  batch_size: z.number().int().min(1).max(1000).optional(),
  filters: z.array(jsonObject).max(100).optional(),
  ...eventScopeFields,
  secret: z.string().optional(),
  after: z.string().optional(),
});

export function subscriptionEndpoints({
  ask,
  newId,
  secrets,
  otherProjects,
}: {
  ask: Ask;
  newId: () => string;
  secrets: Secrets;
  otherProjects: OtherProjects;
}): Route[] {
  return [
    route({
      method: 'POST',
      path: '/subscriptions',
      sensitive: true,
      summary:
        'Create a subscription: events are sent to a webhook (signed as Standard Webhooks define), a queue, an exchange of RabbitMQ, a subject of NATS, mail, or a config that runs on hosts. Only this answer contains the secret.',
      body: subscribeSchema,
      status: 201,
      answer: z.object({ subscription: subscriptionViewSchema, secret: z.string(), gap: eventGapSchema.optional() }),
      handle: async ({ request, body }) => {
        const { project: named, secret, credentials, stack, tag, group, host, filters: given = [], ...wanted } = body;
        const filters = [...given, ...filtersOfScope({ stack, tag, group, host })];
        const project = projectOf(request);
        const from = await otherProjects.of(callerOf(request), named);
        const sealed = {
          ...(secret !== undefined && { secret: sealText(secrets, secret) }),
          ...(credentials !== undefined && { credentials: sealText(secrets, credentials) }),
        };
        return ask('notification', subscriptionCreate, {
          project,
          sealed,
          data: {
            id: newId(),
            project,
            ...wanted,
            ...(from !== project && { events_project: from }),
            ...(filters.length > 0 && { filters }),
            ...sealed,
          },
        });
      },
    }),
    route({
      method: 'GET',
      path: '/subscriptions',
      summary: 'List the subscriptions of the project.',
      answer: z.object({ subscriptions: z.array(subscriptionViewSchema) }),
      handle: ({ request }) => {
        const project = projectOf(request);
        return ask('notification', subscriptionList, { project, data: { project } });
      },
    }),
    route({
      method: 'GET',
      path: '/subscriptions/{id}',
      summary: 'Show a subscription: the state of its deliveries and the number of waiting events.',
      answer: subscriptionViewSchema,
      handle: ({ request, params: { id } }) => {
        const project = projectOf(request);
        return ask('notification', subscriptionShow, { project, data: { project, id } });
      },
    }),
    route({
      method: 'DELETE',
      path: '/subscriptions/{id}',
      summary: 'Delete a subscription.',
      handle: ({ request, params: { id } }) => {
        const project = projectOf(request);
        return ask('notification', subscriptionDelete, { project, data: { project, id } });
      },
    }),
  ];
}

const summaries = {
  pause: 'Pause a subscription: its events wait in the log.',
  resume: 'Resume a paused or disabled subscription. It receives what it missed, in order per subject.',
  retry: 'Attempt all that waits for the listener now.',
};

/** A listener may confirm with either method. Its signature is the proof, so it needs no token. */
export function confirmEndpoints({ ask }: { ask: Ask }): Route[] {
  return (['GET', 'POST'] as const).map((method) =>
    route({
      method,
      path: '/subscriptions/{id}/confirm',
      summary:
        'Confirm a subscription with the address that its listener has received. Needs no token. The header WebHook-Allowed-Rate limits the requests per minute.',
      public: true,
      query: z.strictObject({ expires: z.int().positive(), signature: z.string().max(255) }),
      body: z.unknown(),
      async handle({ params: { id }, query: { expires, signature }, request }) {
        const [rate = ''] = [request.headers['webhook-allowed-rate']].flat();
        const allowed = /^[1-9]\d{0,8}$/.test(rate) ? { rate: Number(rate) } : {};
        await ask('notification', subscriptionConfirm, { project: '', data: { id, expires, signature, ...allowed } });
      },
    }),
  );
}

/** The endpoints that operate a subscription. */
export function operationEndpoints({ ask, secrets }: { ask: Ask; secrets: Secrets }): Route[] {
  return [
    ...(['pause', 'resume', 'retry'] as const).map((verb) =>
      route({
        method: 'POST',
        path: `/subscriptions/{id}/${verb}`,
        summary: summaries[verb],
        answer: subscriptionViewSchema,
        handle: ({ request, params: { id } }) => {
          const project = projectOf(request);
          return ask('notification', subscriptionAct, { project, data: { project, id, verb } });
        },
      }),
    ),
    route({
      method: 'POST',
      path: '/subscriptions/{id}/test',
      summary:
        'Send a test event to the listener, and show its answer. A webhook that has not agreed to receive events is asked first.',
      answer: subscriptionTest.answer,
      handle: ({ request, params: { id } }) => {
        const project = projectOf(request);
        return ask('notification', subscriptionTest, { project, data: { project, id } });
      },
    }),
    route({
      method: 'POST',
      path: '/subscriptions/{id}/rotate-secret',
      sensitive: true,
      summary:
        'Replace the secret of a subscription. Requests have a signature with each secret until the previous one expires. Only this answer contains the new secret.',
      body: z.strictObject({
        secret: z.string().optional(),
        keep_seconds: z
          .number()
          .int()
          .min(0)
          .max(30 * 86_400)
          .default(86_400),
      }),
      answer: z.object({ subscription: subscriptionViewSchema, secret: z.string() }),
      handle: ({ request, params: { id }, body: { secret, keep_seconds } }) => {
        const project = projectOf(request);
        const sealed = secret === undefined ? null : sealText(secrets, secret);
        return ask('notification', subscriptionRotate, {
          project,
          sealed,
          data: { project, id, keep_seconds, ...(sealed && { secret: sealed }) },
        });
      },
    }),
    route({
      method: 'POST',
      path: '/subscriptions/{id}/replay',
      summary: 'Send the stored events of a range again: from an event id or time, to another or the newest event.',
      body: z.strictObject({ from: z.string().min(1).max(255), to: z.string().min(1).max(255).optional() }),
      status: 202,
      answer: z.object({ events: z.number().int() }),
      handle: ({ request, params: { id }, body: { from, to } }) => {
        const project = projectOf(request);
        const range = { from, ...(to !== undefined && { to }) };
        return ask('notification', subscriptionReplay, { project, data: { project, id, ...range } });
      },
    }),
  ];
}

export function deliveryEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/subscriptions/{id}/attempts',
      summary: 'List the latest requests to the listener, the newest first: time, event, status, error and duration.',
      query: z.strictObject({ limit: z.int().min(1).max(1000).default(100) }),
      answer: z.object({ attempts: z.array(attemptSchema) }),
      handle: ({ request, params: { id }, query: { limit } }) => {
        const project = projectOf(request);
        return ask('notification', attemptList, { project, data: { project, id, limit } });
      },
    }),
    route({
      method: 'GET',
      path: '/subscriptions/{id}/deliveries',
      summary: 'List the latest deliveries of a subscription, with all attempts.',
      answer: z.object({ deliveries: z.array(deliveryViewSchema) }),
      handle: ({ request, params: { id } }) => {
        const project = projectOf(request);
        return ask('notification', deliveryList, { project, data: { project, subscription: id } });
      },
    }),
    route({
      method: 'POST',
      path: '/subscriptions/{id}/deliveries/{delivery}/replay',
      summary: 'Send a delivery again.',
      status: 202,
      answer: deliveryViewSchema,
      handle: ({ request, params: { id, delivery } }) => {
        const project = projectOf(request);
        return ask('notification', deliveryReplay, { project, data: { project, subscription: id, delivery } });
      },
    }),
  ];
}
