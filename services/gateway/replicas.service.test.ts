import type { ReplicaDocument } from '@anneal/runtime/service/replica.ts';
import { openReplicas } from '@anneal/runtime/service/replica.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import type { Collection } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaWatch } from './replicas.ts';

describe('the signs of life of the processes', () => {
  let context: TestContext;
  let documents: Collection<ReplicaDocument>;
  let clock = 0;
  let replicas: ReplicaWatch;

  beforeEach(async () => {
    context = await createTestContext({ name: 'gateway' });
    documents = await openReplicas(context.store);
    clock = 0;
    replicas = new ReplicaWatch({ documents, elapsed: () => clock, log: context.log });
  });
  afterEach(() => context.dispose());

  const beat = (id: string, more: Partial<ReplicaDocument> = {}): Promise<unknown> =>
    documents.bulk([
      {
        kind: 'put',
        document: {
          id,
          services: ['scheduling'],
          machine: id,
          pid: 1,
          release: '1.0.0',
          started_at: `2026-01-01T00:00:0${id.length}.000Z`,
          problems: {},
          shards: [],
          ...more,
        },
      },
    ]);
  const pass = async (seconds: number, beating: readonly string[]): Promise<void> => {
    for (let second = 0; second < seconds; second += 5) {
      clock += 5_000;
      for (const id of beating) await beat(id);
      await replicas.look();
    }
  };
  const silent = (): string[] => replicas.list().flatMap(({ isSilent, document }) => (isSilent ? document.id : []));
  const known = (): string[] => replicas.list().map(({ document }) => document.id);

  it('says of a service that none of its processes shows a sign of life, or that there is none', async () => {
    expect(replicas.silenceOf('scheduling')).toMatch(/^No process of this service is running/);
    await beat('a');
    await replicas.look();
    expect(replicas.silenceOf('scheduling')).toBeUndefined();
    await pass(20, []);
    expect(replicas.silenceOf('scheduling')).toMatch(/^Its process has shown no sign of life for 20 s: /);
    await beat('bb');
    await replicas.look();
    expect(replicas.silenceOf('scheduling')).toBeUndefined();
    await pass(20, []);
    expect(replicas.silenceOf('scheduling')).toMatch(/^None of its 2 processes has shown a sign of life for 20 s: /);
    expect(replicas.silenceOf('templating')).toMatch(/^No process of this service is running/);
  });

  it('knows a new form of messages as read once every process of the service reads it', async () => {
    const readsSealed = async (): Promise<boolean> => {
      await replicas.look();
      return replicas.allRead('scheduling', 'sealed questions');
    };
    expect(await readsSealed()).toBe(false);
    await beat('earlier');
    await beat('new', { reads: ['sealed questions'] });
    await beat('other', { services: ['templating'] });
    expect(await readsSealed()).toBe(false);
    await documents.remove('earlier');
    expect(await readsSealed()).toBe(true);
  });

  it('W1, W3: a killed process falls silent and goes away, while the others stay', async () => {
    await Promise.all([beat('a'), beat('bb')]);
    await replicas.look();
    await pass(15, ['a']);
    expect([known(), silent()]).toEqual([['a', 'bb'], []]);
    await pass(5, ['a']);
    expect([known(), silent()]).toEqual([['a', 'bb'], ['bb']]);
    expect(replicas.silenceOf('scheduling')).toBeUndefined();
    await pass(5, ['a', 'bb']);
    expect(silent()).toEqual([]);
    await pass(300, ['a']);
    expect(known()).toEqual(['a', 'bb']);
    await pass(5, ['a']);
    expect(known()).toEqual(['a']);
    expect(await documents.get('bb')).toBeUndefined();
  });

  it('W2: a pause of this gateway makes no other process silent', async () => {
    await beat('a');
    await replicas.look();
    clock += 3_600_000;
    await replicas.look();
    expect([known(), silent()]).toEqual([['a'], []]);
  });

  it('W3: a process that has written since it was read stays', async () => {
    await beat('a');
    await replicas.look();
    await pass(300, []);
    const [last] = replicas.list();
    await beat('a');
    expect(await documents.remove('a', last?.document.version)).toBe(false);
    await pass(5, []);
    expect([known(), silent()]).toEqual([['a'], []]);
  });
});
