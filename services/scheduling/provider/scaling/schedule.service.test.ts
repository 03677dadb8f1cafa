import { groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { resourceCreate, resourceDelete, type ResourceRequest } from '@anneal/contracts/resource.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import type { Timer } from '@anneal/store/timers.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { waitTimers } from '../../documents/wait-timers.ts';
import { Schedules } from './schedule.ts';

let context: TestContext;
let timers: Map<string, Timer>;
let schedules: Schedules;
let received: Envelope[];
beforeEach(async () => {
  context = await createTestContext({ name: 'scheduling' });
  timers = new Map();
  received = [];
  schedules = new Schedules(context, {
    timers: () => ({
      set: async (given) => given.forEach((timer) => timers.set(timer.id, timer)),
      setAtLatest: async () => undefined,
      cancel: async (ids) => ids.forEach((id) => timers.delete(id)),
      stop: async () => undefined,
    }),
    stacks: { get: async (id) => (id === 'g' ? ({ project: 'p1' } as StackDocument) : undefined) },
  });
  await context.bus.consume(requestsQueue('scheduling'), async ({ message }) => {
    received.push(message);
  });
});
afterEach(() => context.dispose());

const request = (properties: ResourceRequest['properties']): Envelope<ResourceRequest> =>
  context.mint(resourceCreate, {
    project: 'p1',
    data: {
      resource: { id: 'r', name: 'night', type: 'Anneal::Scaling::Schedule', physical_name: 'r' },
      stack: { id: 's', name: 'web' },
      traversal: 't',
      fence: 1,
      deadline: new Date().toISOString(),
      physical_id: null,
      properties,
      attributes: {},
    },
  });
const fire = (stored: Timer): Promise<void> => {
  const timer = waitTimers.read(stored);
  if (timer.kind !== 'schedule') throw new Error(`a timer of a schedule was read as ${timer.kind}`);
  return schedules.fire(timer, stored.dueAt);
};
const given = { group: 'g', cron: '0 22 * * *', time_zone: 'Europe/Berlin', size: 2 };

it('asks its group for the size at each time, once for a time that has passed, until it is deleted', async () => {
  expect(await schedules.take('create', request(given))).toMatchObject({ kind: 'complete', physical_id: 'r' });
  const [timer] = [...timers.values()];
  expect(timer?.dueAt).toBeGreaterThan(Date.now());
  // It was due three days ago: no replica ran.
  const late = { id: timer?.id ?? '', data: timer?.data ?? null, dueAt: (timer?.dueAt ?? 0) - 3 * 86_400_000 };
  await fire(late);
  const first = await eventually(() => received[0]);
  expect(groupAdjust.data.parse(first.data)).toMatchObject({
    stack_id: 'g',
    policy: 'night',
    adjustment_type: 'exact_capacity',
    adjustment: 2,
    reason: 'schedule',
    occasion: { actor: { kind: 'schedule', name: 'night' } },
  });
  expect(timers.get(late.id)?.dueAt).toBe(timer?.dueAt);
  // The process died after the send: the timer fires again, and the group recognizes the request by its id.
  await fire(late);
  const second = await eventually(() => received[1]);
  expect(second.id).toBe(first.id);
  const { data, ...envelope } = request(given);
  await schedules.take('delete', { ...envelope, type: resourceDelete.type, data });
  expect(timers.size).toBe(0);
});

it('never reaches a group of another project, and sets its next time all the same', async () => {
  await schedules.take('create', request({ ...given, group: 'other' }));
  const [timer] = [...timers.values()];
  if (!timer) throw new Error('no timer was set');
  timers.clear();
  await fire(timer);
  expect(timers.size).toBe(1);
  expect(received).toEqual([]);
});

it('is refused when its expression never fires', async () => {
  const never = await schedules.take('create', request({ ...given, cron: '0 0 30 2 *' }));
  expect(never).toMatchObject({ kind: 'failed', error: { code: 'InvalidRequest' } });
  expect(timers.size).toBe(0);
});
