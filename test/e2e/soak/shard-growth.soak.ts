/**
 * The number of shards grows on a running installation: replicas restart one after the other with the greater number, one of
 * them after a kill, while stacks wait, are in progress and are created.
 */
import type { ReplicaRow } from '@anneal/client/representation.ts';
import { openSchedulingCollections } from '@anneal/scheduling/collections.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokers, findBackends, type Fleet } from './distributed.ts';
import { startSupervised } from './distributed-supervised.ts';
import { openOutsider, type TestProvider } from '../outsider.ts';
import { bundle, deleted, withClientRetries, settled } from '../server.ts';

const before = 2;
const after = 8;
const stacksBefore = 12;
const template = `
heat_template_version: 2021-04-16
resources:
  asked: { type: Test::Held, properties: { value: 1 } }
  timed: { type: OS::Heat::TestResource, properties: { value: said, wait_secs: 3 } }
  inner:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: { type: Test::Held, properties: { value: { get_attr: [timed, output] } } }
outputs:
  said: { value: { get_attr: [timed, output] } }
`;

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`services on ${name} and MongoDB`, () => {
    const settings: Record<string, string> = { ANNEAL_SCHEDULING_SHARDS: String(before) };
    let server: Fleet;
    let provider: TestProvider;
    const held: Envelope<ResourceRequest>[] = [];
    beforeAll(async () => {
      server = await startSupervised({ ...backends!, lab: 0, settings });
      provider = await openOutsider({ ...backends!, type: 'Test::Held', queue: 'test.held' });
    });
    afterAll(async () => {
      await provider?.close();
      await server?.dispose();
    });

    const create = (stack: string): Promise<void> =>
      withClientRetries(() => server.client.stacks.create({ name: stack, bundle: bundle(template) }));
    const document = async () => {
      const store = await openStore({ url: backends!.database.url });
      try {
        return await (await openSchedulingCollections(store)).shards.get('shards');
      } finally {
        await store.close();
      }
    };

    it('move the stacks in flight to their new shards, and lose nothing', { timeout: 400_000 }, async () => {
      let answering = false;
      await provider.consume(async ({ message }) => {
        const request = message as Envelope<ResourceRequest>;
        if (answering) await provider.complete(request);
        else held.push(request);
      });
      // The announcement of the type arrives some time after its message is sent.
      await eventually(
        async () => {
          const bundled = bundle(template);
          return server.client.stacks.create({ name: 'stack-0', bundle: bundled }).catch(() => undefined);
        },
        { what: 'the first stack being accepted' },
      );
      const names = ['stack-0'];
      for (let index = 1; index < stacksBefore; index += 1) {
        names.push(`stack-${index}`);
        await create(`stack-${index}`);
      }
      await eventually(() => (held.length >= stacksBefore ? true : undefined), {
        what: 'the requests of all stacks being with the provider',
        last: () => held.length,
      });
      expect(await document()).toMatchObject({ count: before });

      settings['ANNEAL_SCHEDULING_SHARDS'] = String(after);
      const replicas = (await server.processes()).filter(({ service }) => service === 'scheduling');
      expect(replicas).toHaveLength(2);
      for (const [index, { name: replica, pid, health_port: port }] of replicas.entries()) {
        process.kill(pid, index === 0 ? 'SIGTERM' : 'SIGKILL');
        names.push(`during-${index}`);
        await create(`during-${index}`);
        await eventually(
          async () => {
            const now = (await server.processes()).find((each) => each.name === replica);
            const ready = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
            return now && now.pid !== pid && ready?.ok ? true : undefined;
          },
          { what: `${replica} being ready again`, last: () => server.output() },
        );
      }
      let last: unknown;
      await eventually(
        async () => {
          last = await document();
          const shards = await document();
          return shards?.count === after && shards.moved.length === before ? true : undefined;
        },
        { what: 'all stacks having moved', last: () => last },
      );

      names.push('afterwards');
      await create('afterwards');
      answering = true;
      for (const request of held.splice(0)) await provider.complete(request);
      for (const stack of names) {
        const created = await settled(server, stack, 120_000);
        expect({ stack, status: created.stack_status, reason: created.stack_status_reason }).toMatchObject({
          status: 'CREATE_COMPLETE',
        });
        expect(created.outputs).toMatchObject([{ output_key: 'said', output_value: 'said' }]);
      }
      for (const stack of names) await withClientRetries(() => server.client.stacks.delete({ stack }));
      for (const stack of names) await deleted(server, stack, 120_000);
      expect(await server.client.deadLetters.list()).toEqual([]);
    });

    it('list each replica with its shards, and call one silent that hangs', async () => {
      let last: unknown;
      const listed = (holds: (replicas: readonly ReplicaRow[]) => boolean) =>
        eventually(
          async () => {
            const scheduling = (await server.client.services()).find((each) => each.name === 'scheduling');
            last = scheduling;
            return scheduling && holds(scheduling.replicas) ? scheduling.replicas : undefined;
          },
          { what: 'the replicas of scheduling', last: () => last },
        );
      const shardsOf = (replicas: readonly ReplicaRow[]) =>
        replicas.flatMap(({ shards }) => shards).toSorted((a, b) => a - b);
      const all = Array.from({ length: after }, (_, at) => at);
      const isReady = ({ status }: ReplicaRow) => status === 'ready';
      // The killed ones are replaced on the same machine, so nothing is left of them.
      const replicas = await listed((rows) => rows.every(isReady) && shardsOf(rows).join() === all.join());
      const running = (await server.processes()).filter(({ service }) => service === 'scheduling');
      expect(new Set(replicas.map(({ pid }) => pid))).toEqual(new Set(running.map(({ pid }) => pid)));

      const [hanging] = replicas;
      process.kill(hanging?.pid ?? 0, 'SIGSTOP');
      const [silent] = await listed((rows) => rows.some(({ status }) => status === 'silent'));
      const { needs, need_counts: counts } = await server.client.overview();
      expect(needs).toContainEqual(expect.objectContaining({ kind: 'service', id: hanging?.id, name: 'scheduling' }));
      expect(counts).toMatchObject({ service: 1 });
      const other = await listed((rows) => shardsOf(rows.filter(isReady)).join() === all.join());
      process.kill(hanging?.pid ?? 0, 'SIGCONT');
      expect(silent).toMatchObject({ id: hanging?.id, shards: [], reason: expect.stringContaining('No sign of life') });
      expect(other.filter(isReady)).toHaveLength(1);
      await listed((rows) => rows.every((each) => isReady(each) && each.shards.length > 0));
    });
  });
}
