import { nodeStates } from '@anneal/contracts/calls/nodes.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isRemovable, offerOf, verbsOf, type NodeNow } from './verbs.ts';

/** The verbs of each state on the reference page, which is generated from the table of the service. */
const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/node-states.md'), 'utf8');
const table = new Map(
  [...page.matchAll(/^\| `([^`]+)` \| ([^|]*→[^|]*) \|/gm)].map(([, state = '', moves = '']) => [
    state,
    [...moves.matchAll(/(\w+) →/g)].map(([, verb]) => verb),
  ]),
);

const nodeIn = (state: string, more: Partial<NodeNow> = {}): NodeNow => ({
  provision_state: state,
  target_power_state: null,
  fault: null,
  ...more,
});

it('offers only verbs that the state accepts', () => {
  expect(table.size).toBeGreaterThan(20);
  const wrong = nodeStates.flatMap((state) =>
    verbsOf(nodeIn(state)).flatMap((verb) => (table.get(state)?.includes(verb) ? [] : [`${state}: ${verb}`])),
  );
  expect(wrong).toEqual([]);
});

it('leaves no state that waits for an operator without a way on', () => {
  const waiting = nodeStates.filter((state) => /failed$|hold$|^enroll$|^manageable$/.test(state));
  // These belong to a server of a stack, whose page has the way on.
  const ofStack = ['deploy failed', 'rescue failed', 'unrescue failed'];
  expect(waiting.filter((state) => verbsOf(nodeIn(state)).length === 0 && !ofStack.includes(state))).toEqual([]);
  expect(isRemovable('active')).toBe(false);
});

it('offers only the end of a change of power while one is in progress', () => {
  for (const state of nodeStates) expect(verbsOf(nodeIn(state, { target_power_state: 'power on' }))).toEqual(['abort']);
});

it('accepts another machine only under a name that says so, after a warning, where the state permits it', () => {
  const accepting = [...page.matchAll(/^\| `([^`]+)` \| [^|]*accept →/gm)].map(([, state = '']) => state);
  expect(accepting.length).toBeGreaterThan(3);
  for (const state of nodeStates) {
    const node = nodeIn(state, { fault: 'identity mismatch' });
    expect(verbsOf(node).includes('manage'), state).toBe(accepting.includes(state));
    expect(offerOf('manage', node).warning).toContain('loses the server');
  }
});
