import { eventually } from '@anneal/runtime/testing.ts';
import type { Document } from '@anneal/store/port.ts';
import { expect, it } from 'vitest';
import { openHarness } from '../testing/running-service.ts';
import { waitTimers } from './wait-timers.ts';

interface StoredTimer extends Document {
  readonly dueAt: number;
  readonly readyAt: number;
  readonly failures: number;
  readonly data: unknown;
}

const times = { schedule: 'r', name: 'night', project: 'p1', group: 'g', time_zone: 'UTC', size: 2 };

it.each([
  ['stored', { kind: 'schedule', ...times, pattern: '0 22 * * *' }],
  ['stored by release 0.1.0', { ...times, cron: '0 22 * * *' }],
])('the timer of a schedule, %s, fires and is set for its next time', async (_, data) => {
  const harness = await openHarness();
  const timers = await harness.context.store.collection<StoredTimer>({
    name: 'scheduling_waits',
    indexes: [{ fields: ['readyAt'] }],
  });
  const dueAt = Date.now() - 1000;
  const id = 'schedule:r';
  await timers.bulk([{ kind: 'put', document: { id, dueAt, readyAt: dueAt, failures: 0, data } }]);
  const next = await eventually(
    async () => {
      const timer = await timers.get(id);
      return timer && timer.dueAt > dueAt ? timer : undefined;
    },
    { what: 'the next time of the schedule' },
  );
  expect(next.data).toEqual({ kind: 'schedule', ...times, pattern: '0 22 * * *' });
  await harness.dispose();
});

it('each timer of release 0.1.0 is read as the one that it was', () => {
  expect(waitTimers.read({ id: 'cron:c', dueAt: 0, data: { cron: 'c' } })).toEqual({ kind: 'cron', cron: 'c' });
  const work = { resource: 'r', fence: 2 };
  expect(waitTimers.read({ id: 'r:2', dueAt: 0, data: work })).toEqual({ kind: 'work', ...work });
  expect(waitTimers.stored({ kind: 'work', ...work }).id).toBe('r:2');
  expect(waitTimers.stored({ kind: 'cron', cron: 'c' }).id).toBe('cron:c');
});
