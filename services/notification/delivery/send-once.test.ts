import { describe, expect, it } from 'vitest';
import { accepted, awayBecause, type EventSink, type SinkRequest } from '../sinks/sink.ts';
import { attemptOnce } from './send-once.ts';

const request = { id: 'r' } as SinkRequest;

/** A sink whose listener answers when the test says so. */
function openSlowSink() {
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<EventSink['send']>>>();
  let closes = 0;
  const sink: EventSink = {
    send: () => promise,
    async close() {
      closes += 1;
      resolve(awayBecause(new Error('the service stops')));
    },
  };
  return { sink, answer: resolve, closes: () => closes };
}

const attempt = (sink: EventSink, stopping: AbortSignal) =>
  attemptOnce(
    { sink, request, tries: 0, onRefusal: 'block' },
    { now: () => 1000, random: () => 0.5, retrySeconds: [5], stopping },
  );

describe('an attempt with a sink of its own', () => {
  it('closes the sink after the answer', async () => {
    const { sink, answer, closes } = openSlowSink();
    const made = attempt(sink, new AbortController().signal);
    answer(accepted);
    expect(await made).toEqual({
      ended: { outcome: accepted, began: 1000, now: 1000 },
      decision: { kind: 'delivered' },
    });
    expect(closes()).toBe(1);
  });

  it('ends at once, and is none, when the service stops; an answer that came before counts', async () => {
    const stopping = new AbortController();
    const slow = openSlowSink();
    const waiting = attempt(slow.sink, stopping.signal);
    const quick = openSlowSink();
    const answered = attempt(quick.sink, stopping.signal);
    quick.answer(accepted);
    stopping.abort();
    expect(await waiting).toBeUndefined();
    expect((await answered)?.decision).toEqual({ kind: 'delivered' });
    expect([slow.closes(), quick.closes()]).toEqual([1, 1]);
    expect(await attempt(openSlowSink().sink, stopping.signal)).toBeUndefined();
  });
});
