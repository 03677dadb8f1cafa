/** A queue of the project. A message that is posted twice, after an answer was lost, has the same event id. */
import type { Bus } from '@anneal/bus/port.ts';
import { queuePost } from '@anneal/contracts/calls/configuration.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { heatMessage, type EventFormat } from './rendering.ts';
import { accepted, refusedOrAway, type EventSink } from './sink.ts';

/** The most messages of one post. */
const mostPosted = 100;

export function openQueueSink({
  bus,
  mint,
  project,
  queue,
  ttl,
  format,
  timeoutMs,
}: {
  bus: Pick<Bus, 'request'>;
  mint: Mint;
  project: string;
  queue: string;
  ttl: number;
  format: EventFormat;
  timeoutMs: number;
}): EventSink {
  const closing = new AbortController();
  return {
    async send({ events }) {
      const bodies = events.map((event) => (format === 'heat' ? heatMessage(event) : (event as unknown as Json)));
      try {
        for (let start = 0; start < bodies.length; start += mostPosted) {
          const messages = bodies.slice(start, start + mostPosted).map((body) => ({ body, ttl }));
          await bus.request({
            queue: requestsQueue('configuration'),
            call: queuePost,
            message: mint(queuePost, { data: { project, queue, client_id: '', messages }, project }),
            timeoutMs,
            signal: closing.signal,
          });
        }
        return accepted;
      } catch (error) {
        return refusedOrAway(error);
      }
    },
    close() {
      closing.abort(new Error('the service stops'));
      return Promise.resolve();
    },
  };
}
