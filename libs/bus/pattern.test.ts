import { describe, expect, it } from 'vitest';
import { matcherOf } from './pattern.ts';

describe('topic patterns', () => {
  it.each([
    ['stack.create.completed', 'stack.create.completed', true],
    ['stack.create.completed', 'stack.create', false],
    ['stack.create', 'stack.create.completed', false],
    ['stack.*.completed', 'stack.create.completed', true],
    ['stack.*', 'stack.create.completed', false],
    ['*', 'stack', true],
    ['*', '', false],
    ['#', 'stack.create.completed', true],
    ['stack.#', 'stack', true],
    ['stack.#', 'stack.create.completed', true],
    ['stack.#', 'stacks.create', false],
    ['#.failed', 'failed', true],
    ['#.failed', 'resource.update.failed', true],
    ['#.failed', 'resource.failed.twice', false],
    ['*.#.failed', 'failed', false],
    ['*.#.failed', 'a.failed', true],
    ['a.#.b.#.c', 'a.x.b.b.y.c', true],
    ['a.#.b.#.c', 'a.x.y.c', false],
    ['#.#', 'a', true],
  ])('%s against %s: %s', (pattern, type, expected) => {
    // The empty text is no word, so that * does not take it.
    expect(matcherOf([pattern])(type) && type !== '').toBe(expected);
  });

  it('costs little when a pattern and a type are made for each other', () => {
    const before = process.cpuUsage();
    expect(matcherOf([`${'#.a.'.repeat(100)}z`])(`${'a.'.repeat(1000)}b`)).toBe(false);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_000);
  });

  it('matches when any of several patterns matches', () => {
    const matches = matcherOf(['a.*', '#.z']);
    expect(['a.b', 'q.z', 'q.y'].map(matches)).toEqual([true, true, false]);
  });

  it.each(['', 'a..b', '.a', 'a.', 'stack.*ed', 'a#'])('refuses the malformed pattern "%s"', (pattern) => {
    expect(() => matcherOf([pattern])).toThrow(/not a pattern/);
  });

  it('refuses a subscription without patterns', () => {
    expect(() => matcherOf([])).toThrow(/at least one pattern/);
  });
});
