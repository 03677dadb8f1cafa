import { nodeStates } from '@anneal/contracts/calls/provisioning.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isRemovable, verbsOf } from './verbs.ts';

/** The verbs of each state on the reference page, which is generated from the table of the service. */
const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/node-states.md'), 'utf8');
const table = new Map(
  [...page.matchAll(/^\| `([^`]+)` \| ([^|]*→[^|]*) \|/gm)].map(([, state = '', moves = '']) => [
    state,
    [...moves.matchAll(/(\w+) →/g)].map(([, verb]) => verb),
  ]),
);

it('offers only verbs that the state accepts', () => {
  expect(table.size).toBeGreaterThan(20);
  // `provide` of a node that is not yet known verifies and inspects it first.
  const accepted = (state: string) => [...(table.get(state) ?? []), ...(state === 'enroll' ? ['provide'] : [])];
  const wrong = nodeStates.flatMap((state) =>
    verbsOf(state).flatMap((verb) => (accepted(state).includes(verb) ? [] : [`${state}: ${verb}`])),
  );
  expect(wrong).toEqual([]);
});

it('leaves no state that waits for an operator without a way on', () => {
  const waiting = nodeStates.filter((state) => /failed$|hold$|^enroll$|^manageable$/.test(state));
  // These belong to a server of a stack, whose page has the way on.
  const ofStack = ['deploy failed', 'rescue failed', 'unrescue failed'];
  expect(waiting.filter((state) => verbsOf(state).length === 0 && !ofStack.includes(state))).toEqual([]);
  expect(isRemovable('active')).toBe(false);
});
