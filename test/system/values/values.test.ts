/**
 * Values arrive as they were sent: the same odd document through every door. A number keeps its text, a map the order of its
 * keys, a string its characters. A failure names the door and the smallest document that changes on its way.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { at, difference, inPython, oddDocument, type Odd, partsOf, readOdd, oddText } from './document.ts';
import type { Door } from './door.ts';
import { languageDoors, plainDoors } from './doors.ts';
import { stackHostDoors } from './host-doors.ts';
import { ValuesWorld } from './world.ts';

const seed = Number(process.env['ANNEAL_TEST_SEED'] ?? Date.now() % 1_000_000);
const document = oddDocument(seed);

let world: ValuesWorld;
beforeAll(async () => {
  process.stderr.write(`ANNEAL_TEST_SEED=${seed}\n`);
  world = await ValuesWorld.open();
});
afterAll(() => world.close());

const isOfLanguage = (door: Door): boolean => Object.values(languageDoors).includes(door);

/** The problem of a document behind a door; undefined when there is none. */
async function problem(door: Door, value: Odd): Promise<string | undefined> {
  const form = isOfLanguage(door) ? inPython : (each: Odd): Odd => each;
  try {
    return difference(form(value), form(await door(world, oddText(value))));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** So long the search of the smallest document may take. */
const searchMs = 5_000;

/** The smallest part of a document that has a problem, and the problem. */
async function smallest(door: Door, value: Odd, found: string, until = performance.now() + searchMs): Promise<string> {
  for (const part of partsOf(value)) {
    if (performance.now() > until) break;
    const inner = await problem(door, part);
    if (inner !== undefined) return smallest(door, part, inner, until);
  }
  return `${oddText(value)}\n${found}`;
}

describe.concurrent('the same odd document', () => {
  it.each(Object.entries({ ...plainDoors, ...languageDoors }))('%s', async (_door, door) => {
    const found = await problem(door, document);
    expect(found === undefined ? undefined : await smallest(door, document, found)).toBeUndefined();
  });
});

/** A key that could change the prototype of an object, deep in a document. */
const forbidden = '{"a":[{"b":1.0},{"__proto__":{"2":1}}]}';

describe.concurrent('a document that could change the prototype of an object', () => {
  const written = { ...plainDoors, ...stackHostDoors };
  it.each(Object.entries(written).filter(([name]) => !/anneal|as a text|dead letter/.test(name)))(
    'is refused with its path: %s',
    async (_door, door) => {
      await expect(door(world, forbidden)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(/forbidden prototype property: [\w.]*a\.1\.__proto__/) as string,
      });
    },
  );
});

describe('a body that is refused leaves nothing', () => {
  it.each([
    ['a forbidden key', Buffer.from(`{"messages":[{"ttl":300,"body":1},{"ttl":300,"body":${forbidden}}]}`)],
    [
      'no UTF-8',
      Buffer.concat([Buffer.from('{"messages":[{"ttl":300,"body":"'), Buffer.from([0xff]), Buffer.from('"}]}')]),
    ],
  ])('%s', async (_what, body) => {
    const queue = `/messaging/v2/queues/${world.name('refused')}`;
    await expect(world.call('POST', `${queue}/messages`, body)).rejects.toMatchObject({ status: 400 });
    expect(oddText(at(await world.call('GET', '/api/v1/queues'), 'queues'))).not.toContain('refused');
  });
});

it('the test reads what it writes', () => {
  expect(difference(document, readOdd(oddText(document)))).toBeUndefined();
});
