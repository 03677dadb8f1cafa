import { createRandom } from '@anneal/convergence/simulation/model.ts';
import { describe, expect, it } from 'vitest';
import type { WaitingRequest } from '../documents/held.ts';
import { reserveOf, Turns, type TurnLimits } from './turns.ts';

const wanted = (resource: string, more: Partial<WaitingRequest> = {}): WaitingRequest => ({
  resource,
  fence: 1,
  stack: 's',
  project: 'p',
  queue: 'q',
  shard: 0,
  urgent: false,
  ...more,
});

/** `count` requests of `project`, in `stack`. */
const many = (project: string, stack: string, count: number, more: Partial<WaitingRequest> = {}): WaitingRequest[] =>
  Array.from({ length: count }, (_, index) => wanted(`${project}-${stack}-${index}`, { project, stack, ...more }));

function turnsOf(limits: TurnLimits, requests: readonly WaitingRequest[]): Turns<WaitingRequest> {
  const turns = new Turns<WaitingRequest>(limits);
  for (const request of requests) turns.want(request);
  return turns;
}

const tally = (
  requests: readonly WaitingRequest[],
  of: (request: WaitingRequest) => string,
): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const request of requests) counts[of(request)] = (counts[of(request)] ?? 0) + 1;
  return counts;
};

describe('turns', () => {
  it('T1, T2: never exceed a limit in any sequence of requests, replacements, answers, returns and removals', () => {
    for (let seed = 1; seed <= 150; seed += 1) run(seed);
  });

  it('T2: reserve places for deletions, and give creations turns during endless deletions', () => {
    const turns = turnsOf({ project: 100, provider: 20 }, many('p', 'a', 50));
    expect(turns.next()).toHaveLength(18);
    for (const request of many('p', 'b', 50, { urgent: true })) turns.want(request);
    expect(turns.next().every(({ urgent }) => urgent)).toBe(true);
    let created = 0;
    for (let index = 0; index < 18; index += 1) {
      turns.settle(`p-a-${index}`, null);
      created += turns.next().filter(({ urgent }) => !urgent).length;
    }
    expect(created).toBe(9);
  });

  it('T3: share a limit evenly, and give unused places to other projects', () => {
    const turns = turnsOf({ project: 1000, provider: 100 }, [
      ...many('greedy', 'a', 500),
      ...many('modest', 'a', 10),
      ...many('other', 'a', 500),
    ]);
    expect(tally(turns.next(), ({ project }) => project)).toEqual({ greedy: 40, modest: 10, other: 40 });
  });

  it('T3: give a late project every freed place until all are equal', () => {
    const turns = turnsOf({ project: 1000, provider: 20 }, many('first', 'a', 500));
    turns.next();
    for (const request of many('late', 'a', 500)) turns.want(request);
    for (let index = 0; index < 9; index += 1) {
      turns.settle(`first-a-${index}`, null);
      expect(turns.next()).toMatchObject([{ project: 'late' }]);
    }
    expect(turns.inFlight({ project: 'late', queue: 'q' })).toEqual({ project: 9, provider: 18 });
  });

  it('T3: give the places of a project at its limit to the others', () => {
    const turns = turnsOf({ project: 10, provider: 100 }, [...many('a', 's', 90), ...many('b', 's', 90)]);
    expect(tally(turns.next(), ({ project }) => project)).toEqual({ a: 9, b: 9 });
  });

  it('T4: alternate between stacks, each with its requests in order', () => {
    const turns = turnsOf({ project: 10, provider: 100 }, [...many('p', 'large', 100), ...many('p', 'small', 3)]);
    expect(turns.next().map(({ resource }) => resource)).toEqual([
      'p-large-0',
      'p-small-0',
      'p-large-1',
      'p-small-1',
      'p-large-2',
      'p-small-2',
      'p-large-3',
      'p-large-4',
      'p-large-5',
    ]);
  });

  it('give a project turns at both providers when it waits at both for its last place', () => {
    const both = [...many('p', 'a', 50, { queue: 'x' }), ...many('p', 'b', 50, { queue: 'y' })];
    const turns = turnsOf({ project: 1, provider: 100 }, both);
    const queues: string[] = [];
    for (let index = 0; index < 6; index += 1) {
      const [request] = turns.next();
      queues.push(request?.queue ?? '');
      turns.settle(request?.resource ?? '', null);
    }
    expect(
      tally(
        queues.map((queue) => wanted('r', { queue })),
        ({ queue }) => queue,
      ),
    ).toEqual({ x: 3, y: 3 });
  });

  it('T5: replace an older request by the newer one, which never waits for it', () => {
    const turns = turnsOf({ project: 1, provider: 1 }, [wanted('r')]);
    expect(turns.next()).toHaveLength(1);
    expect(turns.want(wanted('r', { fence: 2, urgent: true }))).toBe(true);
    expect(turns.inFlight({ project: 'p', queue: 'q' })).toEqual({ project: 1, provider: 1 });
    expect(turns.want(wanted('other'))).toBe(false);
    turns.want(wanted('other', { fence: 2 }));
    turns.settle('r', null);
    expect(turns.next()).toMatchObject([{ resource: 'other', fence: 2 }]);
  });
});

it('T6: admit no request of a resting stack, and give its places to the others', () => {
  const turns = turnsOf({ project: 4, provider: 100 }, [...many('p', 'a', 4), ...many('p', 'b', 4)]);
  turns.rest('a');
  expect(turns.next().map(({ stack }) => stack)).toEqual(['b', 'b', 'b']);
  turns.settle('p-b-0', null);
  turns.settle('p-b-1', null);
  expect(turns.next()).toMatchObject([{ stack: 'b' }]);
  turns.wake();
  expect(turns.next()).toMatchObject([{ stack: 'a' }]);
});

/** Runs random operations, then answers every request. Every request must have had its turn. */
function run(seed: number): void {
  const upTo = createRandom(seed);
  const limits = { project: 1 + upTo(12), provider: 1 + upTo(20) };
  const turns = new Turns<WaitingRequest>(limits);
  const inFlight = new Map<string, WaitingRequest>();
  const open = new Map<string, WaitingRequest>();
  const admit = (): void => {
    for (const request of turns.next()) {
      expect(open.get(request.resource), `seed ${seed}`).toBe(request);
      inFlight.set(request.resource, request);
    }
    const all = [...inFlight.values()];
    const creations = all.filter(({ urgent }) => !urgent);
    for (const [of, limit] of [
      [({ project }: WaitingRequest) => project, limits.project],
      [({ queue }: WaitingRequest) => queue, limits.provider],
    ] as const) {
      for (const count of Object.values(tally(all, of))) expect(count, `seed ${seed}`).toBeLessThanOrEqual(limit);
      for (const count of Object.values(tally(creations, of))) {
        expect(count, `seed ${seed}`).toBeLessThanOrEqual(limit - reserveOf(limit));
      }
    }
  };
  for (let count = 0; count < 200; count += 1) {
    const number = upTo(80);
    const resource = `r${number}`;
    const known = open.get(resource);
    const what = upTo(10);
    if (!known || what < 3) {
      const request = wanted(resource, {
        fence: (known?.fence ?? 0) + 1,
        stack: `s${upTo(5)}`,
        project: `p${number % 3}`,
        queue: `q${upTo(2)}`,
        urgent: upTo(3) === 0,
      });
      open.set(resource, request);
      if (turns.want(request)) inFlight.set(resource, request);
      else inFlight.delete(resource);
    } else if (what < 8) {
      turns.settle(resource, null);
      open.delete(resource);
      inFlight.delete(resource);
    } else {
      turns.putBack(known);
      inFlight.delete(resource);
      if (what === 9) turns.rest(known.stack);
      else turns.wake();
    }
    admit();
  }
  turns.wake();
  admit();
  for (let rounds = 0; open.size > 0; rounds += 1) {
    expect(rounds, `seed ${seed}: ${[...open.keys()].join()} wait for ever`).toBeLessThan(100);
    for (const resource of inFlight.keys()) {
      turns.settle(resource, null);
      open.delete(resource);
    }
    inFlight.clear();
    admit();
  }
  expect(turns.next()).toEqual([]);
  expect(turns.inFlight({ project: 'p0', queue: 'q0' })).toEqual({ project: 0, provider: 0 });
}
