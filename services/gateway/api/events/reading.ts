/**
 * Reads pages of the event log, and follows it.
 *
 * R1 A stream with a token ends soon after the token is revoked or has expired: no event leaves more than
 *    {@link checkEveryMs} after it, and a silent stream ends with the next heartbeat. A stream with a ticket goes on.
 * R2 A reader always knows where to continue: a stream without a starting point begins with its `position`, or a reader
 *    that loses its connection before the first event would miss the events until its next one. A stream of few events
 *    names its position with a heartbeat, so that the log does not remove the id that the reader knows.
 */
import { eventLog } from '@anneal/contracts/calls/event-log.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../../ask.ts';
import { eventsKey, type Wakeups } from '../../wakeups.ts';
import type { Stream } from '../../http/event-stream.ts';

export interface ReadingOptions {
  ask: Ask;
  wakeups: Wakeups;
  heartbeatMs: number;
}

export type EventFilter = { project: string; types: string[]; subject_prefix: string; filters: JsonObject[] };
type Start = { after: string | undefined; before?: string | undefined; position?: number | undefined };

/** Events per read. Bounds the answer for a reader that is far behind. */
const pageSize = 100;
/** A check of the token costs a read, and events may come a thousand a second. */
const checkEveryMs = 1_000;

interface FollowedLog {
  filter: EventFilter;
  after: string;
  /** False when the reader named the start itself. */
  isChosen: boolean;
  /** Throws when the reader may not read any more (R1). */
  check?: (() => Promise<unknown>) | undefined;
}

export function readingOf({ ask, wakeups, heartbeatMs }: ReadingOptions) {
  const page = (filter: EventFilter, limit: number, { after, before, position }: Start) =>
    ask('notification', eventLog, {
      project: filter.project,
      data: {
        ...filter,
        limit,
        ...(after !== undefined && { after }),
        ...(before !== undefined && { before }),
        ...(position !== undefined && { position }),
      },
    });

  /** Sends every event from the start on, until the reader leaves. */
  async function follow(stream: Stream, { filter, after: start, isChosen, check }: FollowedLog): Promise<void> {
    // Start listening before the first read, so that an event between the two appears in the next page.
    const listener = wakeups.listen(eventsKey(filter.project));
    try {
      let after = start;
      let position: number | undefined;
      let checked = performance.now();
      let known = isChosen ? undefined : start;
      const name = async (): Promise<void> => {
        if (after !== known && after !== 'beginning')
          await stream.send({ id: after, name: 'position', data: { after } });
        known = after;
      };
      if (isChosen) await name(); // R2
      while (!stream.signal.aborted) {
        if (performance.now() - checked >= Math.min(checkEveryMs, heartbeatMs)) {
          await check?.(); // R1
          checked = performance.now();
        }
        const { events, cursor, gap, ...read } = await page(filter, pageSize, { after, position });
        // Without an id, because a reconnect continues behind an event.
        if (gap) await stream.send({ name: 'gap', data: gap });
        position = read.position;
        for (const event of events) await stream.send({ id: event.id, data: event });
        known = events.at(-1)?.id ?? known;
        // Move past events that do not match, or each read would start again at the last matching one.
        after = cursor ?? events.at(-1)?.id ?? after;
        if (events.length === pageSize) continue;
        const { isWoken } = await listener.next(heartbeatMs, stream.signal);
        if (!isWoken) await name(); // R2
        await stream.heartbeat();
      }
    } finally {
      listener.close();
    }
  }

  /**
   * The event to start after. A reader that reconnects repeats its first address, so the newer header wins over `after`.
   * @throws AnnealError for an invalid pattern or filter, before the stream opens
   */
  async function startOf(
    request: FastifyRequest,
    filter: EventFilter,
    from: string | undefined,
  ): Promise<Pick<FollowedLog, 'filter' | 'after' | 'isChosen'>> {
    const last = request.headers['last-event-id'];
    const named = typeof last === 'string' && last !== '' ? last : from;
    // Without a starting point, start now: after the newest event.
    const newest = { ...filter, types: ['#'], subject_prefix: '', filters: [] };
    const after = named ?? (await page(newest, 1, { after: undefined })).events.at(-1)?.id ?? 'beginning';
    await page(filter, 1, { after });
    return { filter, after, isChosen: named === undefined };
  }
  return { page, follow, startOf };
}
