import type { StackRevision } from '@anneal/contracts/calls/stack-history.ts';
import pc from 'picocolors';
import { expect, it } from 'vitest';
import { actorText, differenceLines } from './revision.ts';

const colors = pc.createColors(false);
const contents = (word: string, lines: number, more: object = {}) => ({
  template: {
    heat_template_version: '2021-04-16',
    resources: Object.fromEntries(keys(lines).map((key) => [key, word])),
  },
  environment: {},
  files: {},
  parameters: { word, ...more },
});
const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

it('a difference shows parameters first, then the changed lines with some lines around them', () => {
  const [before, after] = [contents('one', 6), contents('one', 7, { size: 2 })];
  expect(differenceLines(before, after, colors)).toEqual([
    'parameters:',
    '  size: (not set) → 2',
    'template:',
    '  … 5 equal lines',
    '      r3: one',
    '      r4: one',
    '      r5: one',
    '  +   r6: one',
  ]);
});

it('equal revisions have no difference, whatever the order of the runs', () => {
  expect(differenceLines(contents('one', 3), contents('one', 3), colors)).toEqual([]);
});

it('the actor of a revision has its kind unless it is a user', () => {
  const by = (kind: string, name: string) =>
    actorText({ occasion: { actor: { kind, id: '', name }, cause: {} } } as unknown as StackRevision);
  expect([by('user', 'admin'), by('policy', 'grow'), by('system', 'anneal')]).toEqual([
    'admin',
    'policy grow',
    'anneal',
  ]);
  expect(actorText({} as StackRevision)).toBeUndefined();
});
