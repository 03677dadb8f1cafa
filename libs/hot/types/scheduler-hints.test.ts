import { describe, expect, it } from 'vitest';
import { readHints, wrongHints } from './scheduler-hints.ts';

describe('scheduler hints', () => {
  it('reads capabilities in every form that TripleO and Ironic use', () => {
    const wanted = { profile: 'control', node: 'controller-0' };
    for (const hints of [
      { 'capabilities:node': 'controller-0', 'capabilities:profile': 'control' },
      { capabilities: { profile: 'control', node: 'controller-0' } },
      { capabilities: 'profile:control, node:controller-0' },
      { profile: 'control', 'capabilities:node': 'controller-0' },
    ]) {
      expect(readHints(hints)).toMatchObject({ capabilities: wanted, mistakes: [] });
    }
    expect(readHints({ node: 'machine-2', traits: 'CUSTOM_A', group: 'g-1' })).toMatchObject({
      node: 'machine-2',
      group: 'g-1',
      traits: ['CUSTOM_A'],
      mistakes: [],
    });
  });

  it.each(['different_host', 'same_host', 'rack', 'query', 'build_near_host_ip', 'capabilities:'])(
    'refuses the hint %s and names those that are supported',
    (hint) => {
      expect(wrongHints({ [hint]: 'x' })).toBe(
        `the hint ${hint} is not supported. The supported hints are traits, capabilities, capabilities:NAME, profile, node, group.`,
      );
    },
  );

  it('names every mistake: empty values, comparisons, contradictions and wrong shapes', () => {
    expect(wrongHints({ profile: '', 'capabilities:a': 's== b', traits: [1] })).toMatch(
      /profile must be .*; capabilities:a must be .*; traits must be/,
    );
    expect(wrongHints({ profile: 'a', 'capabilities:profile': 'b' })).toMatch(
      /profile:b, but another hint requires profile:a/,
    );
    expect(wrongHints({ capabilities: ['a'] })).toMatch(/must be a map/);
    expect(wrongHints({ capabilities: 'profile' })).toMatch(/must be a map/);
    expect(wrongHints(['group'])).toMatch(/must be a map/);
  });
});
