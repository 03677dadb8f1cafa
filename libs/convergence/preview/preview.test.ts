import { expect, it } from 'vitest';
import { simulatedPlan } from '../simulation/model.ts';
import { previewStack } from './preview.ts';

it('evaluates one resource for each row that its caller takes, so that a long preview can be interrupted', () => {
  const wish = { requires: [], value: 1, kind: 1 };
  const evaluated: string[] = [];
  const rows = previewStack({
    plan: simulatedPlan({ a: wish, b: wish, c: wish }),
    resources: [],
    tools: {
      compare: () => ({ verdict: 'same' }),
      replaceFailed: () => false,
      replaces: () => false,
      resolve: ({ name }) => {
        evaluated.push(name);
        return { properties: {}, unknown: [], open: {} };
      },
    },
  });
  expect(evaluated).toEqual([]);
  // The preparations come first, each with a pause behind it.
  expect([rows.next().value, rows.next().value]).toEqual([undefined, undefined]);
  expect(evaluated).toEqual([]);
  expect(rows.next().value).toMatchObject({ name: 'a', change: 'create' });
  expect(evaluated).toEqual(['a']);
  expect(Array.from(rows, (row) => row?.name)).toEqual(['b', 'c']);
});
