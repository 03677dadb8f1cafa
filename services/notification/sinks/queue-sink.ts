/** A queue of the project. A message that is posted twice, after an answer was lost, has the same event id. */
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { openCallSink, type AskContext } from './call-sink.ts';
import { heatMessage, type EventFormat } from './rendering.ts';
import type { EventSink } from './sink.ts';

/** The most messages of one post. */
const mostPosted = 100;

export const openQueueSink = (
  context: AskContext,
  { queue, ttl, format }: { queue: string; ttl: number; format: EventFormat },
): EventSink =>
  openCallSink(context, async ({ events }, ask) => {
    const bodies = events.map((event) => (format === 'heat' ? heatMessage(event) : (event as unknown as Json)));
    for (let start = 0; start < bodies.length; start += mostPosted) {
      const messages = bodies.slice(start, start + mostPosted).map((body) => ({ body, ttl }));
      await ask('configuration', queuePost, { data: { project: context.project, queue, client_id: '', messages } });
    }
  });
