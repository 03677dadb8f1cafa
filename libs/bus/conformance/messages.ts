/** Messages of the conformance suite and of the processes that it kills. */
import { json } from '@anneal/contracts/json.ts';
import type { Definition } from '@anneal/contracts/define.ts';
import { call, event, message } from '@anneal/contracts/define.ts';
import { createMint } from '@anneal/contracts/envelope.ts';
import { replayEnded, requestDied } from '@anneal/contracts/resource.ts';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';

const data = z.object({ n: z.number(), text: z.string().optional(), value: json.optional() });

/** The message that most tests send. */
export const work = message('test.work', 'Something to do.', data);
/** The question that the tests ask. */
export const sum = call('test.sum', 'A short question.', {
  question: z.object({ a: z.number(), b: z.number() }),
  answer: z.object({ sum: z.number() }),
});
/** The event that most tests publish. */
export const happened = event('test.thing.happened', 'Something happened.', data);
/** An event with another topic, of four words. */
export const otherFailed = event('test.other.thing.failed', 'Something else happened.', z.object({ n: z.number() }));

/** The messages that a bus of a test accepts. */
export const testRegistry: ReadonlyMap<string, Definition> = new Map(
  ([work, sum, happened, otherFailed, requestDied, replayEnded] as Definition[]).map((definition) => [
    definition.type,
    definition,
  ]),
);

/** Makes the messages of the tests, with a new id each. */
export const mintTestMessage = createMint({ source: 'anneal/test', newId: randomUUID, now: () => new Date() });
/** A log that writes nothing. */
export const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
