/** The event log: a page of it, or each event as it happens, as server-sent events or over a WebSocket. */
import { envelopeSchema } from '@anneal/contracts/envelope.ts';
import { eventGapSchema } from '@anneal/contracts/calls/subscriptions.ts';
import { eventScopeFields, filtersOfScope } from '@anneal/contracts/event-scope.ts';
import { jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { refuseForeignPage } from '../../http/upgrades.ts';
import { authenticated, callerOf, type Authenticate, type Caller } from '../../identity/caller.ts';
import { oneOrMore } from '../../http/input.ts';
import { route, type Route } from '../../http/route.ts';
import type { Streams } from '../../http/event-stream.ts';
import type { EventSockets } from './event-socket.ts';
import { eventsProjectField, type OtherProjects } from '../../identity/other-projects.ts';
import { mostTicketLength, readTicket, ticketText } from './event-ticket.ts';
import { readingOf, type EventFilter, type ReadingOptions } from './reading.ts';

export interface EventEndpointOptions extends ReadingOptions {
  secrets: Secrets;
  /** In milliseconds since the epoch. */
  now: () => number;
  streams: Streams;
  sockets: EventSockets;
  authenticate: Authenticate;
  otherProjects: OtherProjects;
}

/** The path of the WebSocket below the prefix of the API. */
export const eventSocketPath = '/events/ws';

/** Whether the request opens the WebSocket with a ticket in its address, and so needs no token. */
export const opensWithTicket = ({ routeOptions, query }: FastifyRequest): boolean =>
  routeOptions.url?.endsWith(eventSocketPath) === true && (query as { ticket?: unknown }).ticket !== undefined;

const list = oneOrMore.transform((values) => values.flatMap((item) => item.split(',')));
/** Filters in the dialects of the CloudEvents Subscriptions API, as JSON. */
const filtersSchema = z
  .string()
  .max(65_536)
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue({ code: 'custom', message: 'must be a JSON array of filters' });
      return z.NEVER;
    }
  })
  .pipe(z.array(jsonObject).max(100));
const eventSchema = envelopeSchema.meta({ id: 'Event' });
const streamQuery = z.strictObject({
  after: z.string().optional(),
  types: list.optional(),
  subject_prefix: z.string().default(''),
  project: eventsProjectField,
  ...eventScopeFields,
  filters: filtersSchema.optional(),
});
const querySchema = streamQuery
  .extend({
    before: z.string().optional().meta({
      description: 'The id of an event: the page has the newest events before it. Not with `after`, nor for a stream.',
    }),
    limit: z.int().min(1).max(1000).default(100),
  })
  .refine(({ after, before }) => after === undefined || before === undefined, {
    path: ['before'],
    message: 'does not go with `after`: a page is read in one direction',
  });
/** A ticket has the filter in itself. */
const socketQuery = streamQuery
  .extend({ ticket: z.string().max(mostTicketLength).optional() })
  .superRefine(({ ticket, after: _after, subject_prefix, ...filter }, context) => {
    if (ticket === undefined) return;
    const given = [...Object.keys(filter), ...(subject_prefix === '' ? [] : ['subject_prefix'])];
    for (const path of given)
      context.addIssue({
        code: 'custom',
        path: [path],
        message: 'does not go with a ticket, which has its own filter',
      });
  });
const ticketQuery = z.strictObject({ ticket: z.string().max(mostTicketLength), after: z.string().optional() });

/** A credential sees only the events of its stack. */
const filtersOfCaller = (caller: Caller): JsonObject[] =>
  caller.kind === 'credential' ? filtersOfScope({ stack: [caller.stack.id] }) : [];

async function filterOf(
  request: FastifyRequest,
  query: z.output<typeof streamQuery>,
  { otherProjects }: EventEndpointOptions,
): Promise<EventFilter> {
  const caller = callerOf(request);
  return {
    project: await otherProjects.of(caller, query.project),
    types: query.types ?? ['#'],
    subject_prefix: query.subject_prefix,
    filters: [...(query.filters ?? []), ...filtersOfScope(query), ...filtersOfCaller(caller)],
  };
}

/** Whether the caller of an open stream may still read it. @throws AnnealError Unauthorized, Forbidden */
const checkOf =
  (request: FastifyRequest, named: string | undefined, { authenticate, otherProjects }: EventEndpointOptions) =>
  async (): Promise<unknown> =>
    otherProjects.of(await authenticated(request, authenticate), named);

const ticketBody = z.strictObject({
  types: z.array(z.string().min(1)).min(1).max(100).default(['#']),
  subject_prefix: z.string().max(1000).default(''),
  project: eventsProjectField,
  ...eventScopeFields,
  filters: z.array(jsonObject).max(100).default([]),
  seconds: z.number().int().min(1).max(3600).default(60).meta({
    description: 'So long the ticket opens streams. A stream that is open stays open.',
  }),
});

/** @throws AnnealError Unauthorized */
function filterOfTicket(text: string, { secrets, now }: EventEndpointOptions): EventFilter {
  const ticket = readTicket(secrets, text, now());
  if (!ticket) throw new AnnealError('Unauthorized', 'The ticket is not valid, or has expired. Request another.');
  const { expires: _, ...filter } = ticket;
  return filter;
}

export function eventEndpoints(options: EventEndpointOptions): Route[] {
  const reading = readingOf(options);
  return [
    listEndpoint(options, reading),
    socketEndpoint(options, reading),
    ticketEndpoint(options, reading),
    ticketStreamEndpoint(options, reading),
  ];
}

const streamGoesForwards = (): AnnealError =>
  new AnnealError('InvalidRequest', 'Cannot stream the events before an event: a stream only goes forwards.', {
    details: { remedy: 'Request a page: leave out the header Accept: text/event-stream.' },
  });

type Reading = ReturnType<typeof readingOf>;

const listEndpoint = (options: EventEndpointOptions, { page, startOf, follow }: Reading): Route =>
  route({
    method: 'GET',
    path: '/events',
    summary:
      'List events in the order in which they were stored, as a page or, with Accept: text/event-stream, as a stream. Starts after the event in `after` or Last-Event-ID; `beginning` starts at the oldest stored event. When the log has removed that event, `gap` says so: in a stream, as an item of the type `gap`. An item of the type `position` names the id to continue after.',
    query: querySchema,
    stream: true,
    answer: z.object({
      events: z.array(eventSchema),
      cursor: z.string().optional(),
      gap: eventGapSchema.optional(),
    }),
    handle: async ({ request, reply, query }) => {
      const filter = await filterOf(request, query, options);
      if (!(request.headers.accept?.includes('text/event-stream') ?? false)) {
        const { after, before, limit } = query;
        const { events, cursor, gap } = await page(filter, limit, { after, before });
        return { events, ...(cursor !== undefined && { cursor }), ...(gap && { gap }) };
      }
      if (query.before !== undefined) throw streamGoesForwards();
      const start = await startOf(request, filter, query.after);
      const check = checkOf(request, query.project, options);
      await options.streams.open(reply, (stream) => follow(stream, { ...start, check }));
      return undefined;
    },
  });

const socketEndpoint = (options: EventEndpointOptions, { startOf, follow }: Reading): Route =>
  route({
    method: 'GET',
    path: eventSocketPath,
    stream: 'only',
    summary:
      'The same stream over a WebSocket: each text is an event as JSON (`cloudevents.json`). Takes a token, the session of a page of this server, or a `ticket` in place of a filter. A gap is an event of the type `events.gap`; one of the type `events.position` has the id to continue after.',
    query: socketQuery,
    handle: async ({ request, reply, query }) => {
      if (query.ticket !== undefined) {
        const filter = filterOfTicket(query.ticket, options);
        const start = await startOf(request, filter, query.after);
        await options.sockets.open({ request, reply }, (stream) => follow(stream, start));
        return;
      }
      refuseForeignPage(request);
      const filter = await filterOf(request, query, options);
      const start = await startOf(request, filter, query.after);
      const check = checkOf(request, query.project, options);
      await options.sockets.open({ request, reply }, (stream) => follow(stream, { ...start, check }));
    },
  });

const ticketEndpoint = ({ secrets, now, otherProjects }: EventEndpointOptions, { page }: Reading): Route =>
  route({
    method: 'POST',
    path: '/events/ticket',
    sensitive: true,
    summary:
      'Make a ticket for a browser, which opens the event stream with this filter, in its address and without a header. It expires soon and allows nothing else.',
    body: ticketBody,
    status: 201,
    answer: z.object({
      ticket: z.string(),
      expires_at: z.iso.datetime(),
      path: z.string().meta({ description: 'The path and query of the stream.' }),
      socket_path: z.string().meta({ description: 'The same for a WebSocket.' }),
    }),
    handle: async ({ request, body: { project: named, types, subject_prefix, filters: given, seconds, ...scope } }) => {
      const filters = [...given, ...filtersOfScope(scope), ...filtersOfCaller(callerOf(request))];
      const project = await otherProjects.of(callerOf(request), named);
      const filter = { project, types, subject_prefix, filters };
      // Refuse an invalid pattern or filter now, not when the page opens the stream.
      await page(filter, 1, { after: undefined });
      const expires = Math.floor(now() / 1000) + seconds;
      const ticket = ticketText(secrets, { ...filter, expires });
      if (ticket.length > mostTicketLength) {
        throw new AnnealError('TooLarge', 'The filter is too long for an address. Use fewer types and filters.');
      }
      return {
        ticket,
        expires_at: new Date(expires * 1000).toISOString(),
        path: `/api/v1/events/stream?ticket=${ticket}`,
        socket_path: `/api/v1${eventSocketPath}?ticket=${ticket}`,
      };
    },
  });

const ticketStreamEndpoint = (options: EventEndpointOptions, { startOf, follow }: Reading): Route =>
  route({
    method: 'GET',
    path: '/events/stream',
    summary:
      'The event stream of a ticket, also for a page of another origin. Starts after the event in `after` or Last-Event-ID, otherwise now.',
    public: true,
    stream: true,
    query: ticketQuery,
    handle: async ({ request, reply, query: { ticket, after: from } }) => {
      const filter = filterOfTicket(ticket, options);
      // The ticket is the only credential, and no cookie travels with it.
      reply.raw.setHeader('access-control-allow-origin', '*');
      const start = await startOf(request, filter, from);
      await options.streams.open(reply, (stream) => follow(stream, start));
      return undefined;
    },
  });
