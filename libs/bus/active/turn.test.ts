import { describe, expect, it, vi } from 'vitest';
import { silent } from '../conformance/messages.ts';
import { soleOwner, type Contender, type Ownership } from './owners.ts';
import { Turn, type TurnConsumer } from './turn.ts';

/** Records what happens to the consumers of a queue. */
function scene(ownership: Ownership = soleOwner) {
  const said: string[] = [];
  const turn = new Turn({ queue: 'q', ownership, log: silent });
  const candidate = (name: string, rest = Promise.resolve(), begin = () => Promise.resolve()): TurnConsumer => ({
    begin: async () => {
      said.push(`${name} begins`);
      await begin();
    },
    rest: async ({ deadlineMs }) => {
      said.push(`${name} rests${deadlineMs === undefined ? '' : ` within ${deadlineMs}`}`);
      await rest;
      said.push(`${name} rested`);
    },
    onActive: (active) => void said.push(`${name} ${active ? 'active' : 'inactive'}`),
  });
  return { said, turn, candidate };
}

/** A process whose ownership the test sets. */
function ownedByTest() {
  let contender: Contender | undefined;
  const ownership: Ownership = {
    campaign: (_queue, stands) => {
      contender = stands;
      return Promise.resolve();
    },
    withdraw: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  return { ownership, gain: () => contender?.gain(), yield: (lost: boolean) => contender?.yield({ lost }) };
}

describe('consumers of one queue in a process', () => {
  it('take turns: the next one begins when the previous one has no message in flight', async () => {
    const { said, turn, candidate } = scene();
    const busy = Promise.withResolvers<void>();
    const [one, two] = [candidate('one', busy.promise), candidate('two')];
    await turn.add(one);
    await turn.add(two);
    const removed = turn.remove(one, {});
    await vi.waitFor(() => expect(said.at(-1)).toBe('one rests'));
    busy.resolve();
    await removed;
    expect(said).toEqual([
      'one active',
      'one begins',
      'one rests',
      'one rested',
      'one inactive',
      'two active',
      'two begins',
    ]);
  });

  it('consume only while the process owns the queue; on loss they return messages at once, on yield within a second', async () => {
    const { ownership, gain, yield: give } = ownedByTest();
    const { said, turn, candidate } = scene(ownership);
    await turn.add(candidate('one'));
    expect(said).toEqual([]);
    gain();
    await vi.waitFor(() => expect(said.at(-1)).toBe('one begins'));
    await give(false);
    gain();
    await vi.waitFor(() => expect(said.at(-1)).toBe('one begins'));
    await give(true);
    expect(said.filter((each) => each.includes('rests'))).toEqual(['one rests within 1000', 'one rests within 0']);
    expect(said.at(-1)).toBe('one inactive');
  });

  it('retry a start that fails, until the process no longer owns the queue', async () => {
    const { ownership, gain, yield: give } = ownedByTest();
    const { said, turn, candidate } = scene(ownership);
    let failures = 0;
    const begin = (): Promise<void> => {
      failures += 1;
      return failures < 3 || failures > 3 ? Promise.reject(new Error('not there yet')) : Promise.resolve();
    };
    await turn.add(candidate('one', Promise.resolve(), begin));
    gain();
    await vi.waitFor(() => expect(failures).toBe(3));
    await give(false);
    gain();
    await vi.waitFor(() => expect(failures).toBeGreaterThanOrEqual(4));
    await give(false);
    expect(said.filter((each) => each.includes('active'))).toEqual([
      'one active',
      'one inactive',
      'one active',
      'one inactive',
    ]);
  });

  it('never begin after removal', async () => {
    const { said, turn, candidate } = scene();
    const [one, two] = [candidate('one'), candidate('two')];
    await turn.add(one);
    await turn.add(two);
    await turn.remove(two, {});
    await turn.remove(one, {});
    expect(said.filter((each) => each.startsWith('two'))).toEqual([]);
    expect(turn.isEmpty).toBe(true);
  });
});
