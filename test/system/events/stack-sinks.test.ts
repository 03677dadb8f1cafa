/** The event sinks of a stack: queues that its environment names, and that its events create, change and end. */
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { resourceEvent, stackEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { openEventWorld, type EventWorld } from './world.ts';

useQuickClock({ stepMs: 20 });

let world: EventWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const project = '00000000000000000000000000000001';
const origin = (path: string) => ({
  ...unknownOrigin(),
  root: { stack_id: 's1', stack_name: 'web' },
  path,
});
const sink = (target: string, ttl = 600) => ({ type: 'zaqar-queue' as const, target, ttl });
let version = 0;

/** An event of the root stack. */
async function stackHappens(
  { context }: EventWorld,
  step: keyof typeof stackEvent,
  sinks?: ReturnType<typeof sink>[],
): Promise<string> {
  version += 1;
  const [verb = '', stage = ''] = step.split('.');
  const status = { started: 'IN_PROGRESS', completed: 'COMPLETE', failed: 'FAILED' }[stage] ?? '';
  const event = context.mint(stackEvent[step], {
    data: {
      origin: origin(''),
      stack_id: 's1',
      stack_name: 'web',
      action: verb.toUpperCase(),
      status,
      reason: '',
      traversal: 't',
      version,
      ...(sinks && { event_sinks: sinks }),
    },
    subject: 's1',
    project,
  });
  await context.bus.publish([event]);
  return event.id;
}

/** An event of a resource in a nested stack. */
async function memberHappens({ context }: EventWorld): Promise<string> {
  version += 1;
  const event = context.mint(resourceEvent['create.completed'], {
    data: {
      origin: origin('group/0'),
      stack_id: 's2',
      stack_name: 'web-group',
      resource_id: 'r',
      resource_name: '0',
      resource_type: 'OS::Nova::Server',
      physical_id: 'n1',
      action: 'CREATE',
      status: 'COMPLETE',
      reason: 'state changed',
      version,
    },
    subject: 's2',
    project,
  });
  await context.bus.publish([event]);
  return event.id;
}

/** The first message creates the queue. */
const messagesOf = async ({ client }: EventWorld, queue: string) => {
  const found = await client.queues.peek({ queue, limit: 100 }).catch(() => []);
  return found.map(({ body, ttl }) => ({ ...(body as { id: string }), ttl }));
};
const idsOf = async (of: EventWorld, queue: string): Promise<string[]> =>
  (await messagesOf(of, queue)).map(({ id }) => id);

describe('event sinks of a stack', () => {
  it('have all events of the tree from the first one to the last one, and end with the stack', async () => {
    world = await openEventWorld();
    const { client } = world;
    const all = [
      await stackHappens(world, 'create.started', [sink('one'), sink('two')]),
      await memberHappens(world),
      await stackHappens(world, 'create.completed'),
    ];
    await eventually(async () => world && (await idsOf(world, 'one')).length === 3);
    expect(await client.subscriptions.list()).toMatchObject([
      { name: 'event sink of web', format: 'heat', stack_id: 's1' },
      { url: 'queue:two?ttl=600' },
    ]);
    // One sink goes on with another ttl, the other one ends, a third one begins.
    const updated = await stackHappens(world, 'update.started', [sink('one', 60), sink('three')]);
    const later = [await memberHappens(world), await stackHappens(world, 'update.completed')];
    const last = [await stackHappens(world, 'delete.started'), await stackHappens(world, 'delete.completed')];
    await eventually(async () => (await client.subscriptions.list()).length === 0);
    const expected = [...all, updated, ...later, ...last];
    expect(new Set(await idsOf(world, 'one'))).toEqual(new Set(expected));
    expect((await messagesOf(world, 'one')).find(({ id }) => id === last[1])).toMatchObject({
      ttl: 60,
      type: 'os.heat.event',
      payload: { resource_name: 'web', resource_action: 'DELETE', resource_status: 'COMPLETE' },
    });
    expect(new Set(await idsOf(world, 'two'))).toEqual(new Set([...all, updated]));
    expect(new Set(await idsOf(world, 'three'))).toEqual(new Set([updated, ...later, ...last]));
  });

  it('are not those of a nested stack, nor of an event that only names its own stack', async () => {
    world = await openEventWorld();
    await memberHappens(world);
    await stackHappens(world, 'create.started');
    await stackHappens(world, 'create.completed', []);
    const known = await eventually(async () => {
      const events = (await world?.client.events.list({})) ?? [];
      return events.length === 3 ? events : undefined;
    });
    expect(known).toHaveLength(3);
    expect(await world.client.subscriptions.list()).toEqual([]);
  });
});
