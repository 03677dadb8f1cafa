/** The event log: a page of it, or each event as it happens. */
import { envelopeSchema } from '@anneal/contracts/envelope.ts';
import { eventGapSchema, eventLog } from '@anneal/contracts/calls/notification.ts';
import { eventScopeFields, filtersOfScope } from '@anneal/contracts/event-scope.ts';
import { jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf, projectOf, type Caller } from '../identity/caller.ts';
import { eventsKey, type Wakeups } from '../wakeups.ts';
import { endpoint, type Endpoint } from './endpoint.ts';
import type { Stream, Streams } from './event-stream.ts';

export interface EventEndpointOptions {
  ask: Ask;
  streams: Streams;
  wakeups: Wakeups;
  heartbeatMs: number;
}

const list = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat().flatMap((item) => item.split(',')));
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
const querySchema = z.strictObject({
  after: z.string().optional(),
  types: list.optional(),
  subject_prefix: z.string().default(''),
  ...eventScopeFields,
  filters: filtersSchema.optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});
/** Events per read. Bounds the answer for a reader that is far behind. */
const pageSize = 100;

/** A credential sees only the events of its stack. */
const filtersOfCaller = (caller: Caller): JsonObject[] =>
  caller.kind === 'credential' ? filtersOfScope({ stack: [caller.stack.id] }) : [];

export function eventEndpoints({ ask, streams, wakeups, heartbeatMs }: EventEndpointOptions): Endpoint[] {
  type Filter = { project: string; types: string[]; subject_prefix: string; filters: JsonObject[] };
  type Start = { after: string | undefined; position?: number | undefined };
  const page = (filter: Filter, limit: number, { after, position }: Start) =>
    ask('notification', eventLog, {
      project: filter.project,
      data: {
        ...filter,
        limit,
        ...(after !== undefined && { after }),
        ...(position !== undefined && { position }),
      },
    });

  async function follow(stream: Stream, filter: Filter, start: string | undefined): Promise<void> {
    // Start listening before the first read, so that an event between the two appears in the next page.
    const listener = wakeups.listen(eventsKey(filter.project));
    try {
      let after = start;
      let position: number | undefined;
      while (!stream.signal.aborted) {
        const { events, cursor, gap, ...read } = await page(filter, pageSize, { after, position });
        // Without an id, because a reconnect continues behind an event.
        if (gap) await stream.send({ name: 'gap', data: gap });
        position = read.position;
        for (const event of events) await stream.send({ id: event.id, data: event });
        // Move past events that do not match, or each read would start again at the last matching one.
        after = cursor ?? events.at(-1)?.id ?? after;
        if (events.length === pageSize) continue;
        await listener.next(heartbeatMs, stream.signal);
        await stream.heartbeat();
      }
    } finally {
      listener.close();
    }
  }

  return [
    endpoint({
      method: 'GET',
      path: '/events',
      summary:
        'List events in the order in which they were stored, as a page or, with Accept: text/event-stream, as a stream. Starts after the event in `after` or Last-Event-ID; `beginning` starts at the oldest stored event. When the log has removed that event, `gap` says so: in a stream, as an item of the type `gap`.',
      query: querySchema,
      stream: true,
      answer: z.object({
        events: z.array(envelopeSchema),
        cursor: z.string().optional(),
        gap: eventGapSchema.optional(),
      }),
      handle: async ({ request, reply, query }) => {
        const filter = {
          project: projectOf(request),
          types: query.types ?? ['#'],
          subject_prefix: query.subject_prefix,
          filters: [...(query.filters ?? []), ...filtersOfScope(query), ...filtersOfCaller(callerOf(request))],
        };
        if (!(request.headers.accept?.includes('text/event-stream') ?? false)) {
          const { events, cursor, gap } = await page(filter, query.limit, { after: query.after });
          return { events, ...(cursor !== undefined && { cursor }), ...(gap && { gap }) };
        }
        const last = request.headers['last-event-id'];
        // A reconnecting client repeats its first URL, so the newer header wins.
        const named = typeof last === 'string' && last !== '' ? last : query.after;
        // Without a starting point, start now: after the newest event.
        const newest = { ...filter, types: ['#'], subject_prefix: '', filters: [] };
        const after = named ?? (await page(newest, 1, { after: undefined })).events.at(-1)?.id ?? 'beginning';
        // Refuse an invalid pattern or filter before the stream opens.
        await page(filter, 1, { after });
        await streams.open(reply, (stream) => follow(stream, filter, after));
        return undefined;
      },
    }),
  ];
}
