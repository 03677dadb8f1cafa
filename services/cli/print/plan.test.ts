import type { PlannedChange } from '@anneal/contracts/calls/previews.ts';
import pc from 'picocolors';
import { expect, it } from 'vitest';
import { planLines } from './plan.ts';

const change = (more: Partial<PlannedChange>): PlannedChange => ({
  resource: 'a',
  type: 'OS::Heat::Value',
  change: 'unchanged',
  properties: [],
  step: 1,
  ...more,
});

it('planLines prints each change in order, and why a resource is replaced', () => {
  const lines = planLines(
    [
      change({ resource: 'same' }),
      change({ resource: 'old', change: 'delete', step: 3 }),
      change({
        resource: 'web',
        change: 'replace',
        step: 2,
        order: 'delete before create',
        because: 'it is CHECK_FAILED',
        properties: [{ property: 'salt', before: 'x', after: 'y', known: true, replaces: true }],
      }),
      change({
        resource: 'user',
        change: 'maybe update',
        step: 3,
        properties: [{ property: 'value', before: 1, known: false, replaces: false }],
      }),
    ],
    pc.createColors(false),
  );
  expect(lines).toEqual([
    '   2  ± replace       web  OS::Heat::Value',
    '          because it is CHECK_FAILED',
    '          deleted before the replacement is created',
    '          salt: "x" → "y"  forces replacement',
    '   3  - delete        old  OS::Heat::Value',
    '   3  ~ maybe update  user  OS::Heat::Value',
    '          value: 1 → (known after apply)',
    '',
    '0 to create, 1 to update, 1 to replace, 1 to delete, 1 unchanged',
  ]);
});
