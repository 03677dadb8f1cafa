import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { shardQueue } from '@anneal/contracts/queues.ts';
import type { Collection } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestContext, eventually, type TestContext } from '../testing.ts';
import { openReplicas, Replica, type ReplicaDocument } from './replica.ts';

describe('the sign of life of a process', () => {
  let context: TestContext;
  let documents: Collection<ReplicaDocument>;
  let problems: Record<string, string>;
  let running: Replica[];

  beforeEach(async () => {
    context = await createTestContext({ name: 'scheduling' });
    documents = await openReplicas(context.store);
    problems = {};
    running = [];
  });
  afterEach(async () => {
    for (const each of running) await each.stop();
    await context.dispose();
  });

  const start = async (id: string, isAlone = false): Promise<Replica> => {
    const replica = await Replica.open({
      ...context,
      id,
      services: ['scheduling'],
      problems: async () => problems,
      isAlone,
    });
    running.push(replica);
    return replica;
  };
  const written = (id: string, holds: (document: ReplicaDocument) => boolean): Promise<ReplicaDocument> => {
    let last: ReplicaDocument | undefined;
    return eventually(
      async () => {
        last = await documents.get(id);
        return last && holds(last) ? last : undefined;
      },
      { what: `the document of ${id}`, last: () => last },
    );
  };
  const other = (id: string, machine: string, pid: number) =>
    documents.insert({
      id,
      services: ['gateway'],
      machine,
      pid,
      release: '0.0.1',
      started_at: '2026-01-01T00:00:00Z',
      problems: {},
      shards: [],
    });

  it('R1: shows the process, its shards as they come and go, and why it is not ready', async () => {
    const replica = await start('a');
    expect(await written('a', () => true)).toMatchObject({
      services: ['scheduling'],
      machine: hostname(),
      pid: process.pid,
      problems: {},
      shards: [],
    });
    for (const shard of [10, 2, 3]) replica.owns(shardQueue(shard), true);
    replica.owns('events.scheduling', true);
    expect((await written('a', ({ shards }) => shards.length === 3)).shards).toEqual([2, 3, 10]);
    problems = { bus: 'the broker is away' };
    replica.owns(shardQueue(3), false);
    expect(await written('a', ({ shards }) => shards.length === 2)).toMatchObject({ problems });
  });

  it('R1: writes again although nothing changes, so that silence means something', async () => {
    await start('a');
    const { version } = await written('a', () => true);
    await written('a', (document) => document.version > version);
  });

  it('R2: is removed by a stop, and no late write brings it back', async () => {
    const replica = await start('a');
    await written('a', () => true);
    replica.owns(shardQueue(1), true);
    await replica.stop();
    replica.owns(shardQueue(1), false);
    await replica.stop();
    expect(await documents.get('a')).toBeUndefined();
  });

  it('R3: its start removes the documents of processes of its machine that have ended, and keeps the others', async () => {
    const { pid: ended } = spawnSync(process.execPath, ['--version']);
    await other('ended', hostname(), ended);
    await other('earlier with this number', hostname(), process.pid);
    await other('alive', hostname(), process.ppid);
    await other('elsewhere', 'another-machine', ended);
    await start('a');
    await written('a', () => true);
    const ids = (await documents.find({ where: { id: { gt: '' } } })).map(({ id }) => id);
    expect(ids.sort()).toEqual(['a', 'alive', 'elsewhere']);
    await start('b', true);
    await written('b', () => true);
    expect(await documents.get('elsewhere')).toBeUndefined();
  });
});
