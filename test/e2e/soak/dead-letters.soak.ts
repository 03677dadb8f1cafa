/** A dead letter on a real broker fails the waiting resource, and every report of the failure names it. */
import { JetStreamConnection } from '@anneal/bus/nats/connection.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokers, findBackends, startDistributed, type Distributed } from './distributed.ts';
import { openOutsider, type TestProvider } from '../outsider.ts';
import { bundle, deleted, settled } from '../server.ts';

const template = (type: string) => `
heat_template_version: 2021-04-16
resources:
  asked: { type: ${type}, properties: { value: 1 } }
  beside: { type: OS::Heat::TestResource }
`;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`dead letters on ${name} and MongoDB`, () => {
    let server: Distributed;
    const outsiders: TestProvider[] = [];
    beforeAll(async () => {
      server = await startDistributed({ ...backends!, lab: 0 });
    });
    afterAll(async () => {
      for (const outsider of outsiders) await outsider.close();
      await server?.dispose();
    });

    const outsider = async (what: string): Promise<TestProvider> => {
      const opened = await openOutsider({ ...backends!, type: `Test::${what}`, queue: `test.${what.toLowerCase()}` });
      outsiders.push(opened);
      return opened;
    };
    /** Repeated until the announcement of the type has arrived. */
    const create = (stack: string, type: string): Promise<unknown> => {
      let last: unknown;
      return eventually(
        async () => {
          try {
            return await server.client.stacks.create({ name: stack, bundle: bundle(template(type)) });
          } catch (error) {
            last = error instanceof Error ? error.message : error;
            return undefined;
          }
        },
        { what: `${stack} being accepted`, last: () => last },
      );
    };
    /** The stack fails because of the dead letter, `why` and the list show it, and the stack can be deleted. */
    const failsWithLetter = async (stack: string, { queue }: TestProvider): Promise<void> => {
      const created = await settled(server, stack);
      const letters = await server.client.deadLetters.list({ queue });
      expect(letters).toHaveLength(1);
      const id = letters[0]?.id ?? '';
      expect(created).toMatchObject({
        stack_status: 'CREATE_FAILED',
        stack_status_reason: expect.stringContaining(id) as string,
      });
      expect((await server.anneal('why', stack)).stdout).toContain(id);
      // A response to the dead request arrives too late: the resource stays failed.
      await server.client.deadLetters.replay({ id });
      await eventually(
        async () => ((await server.client.deadLetters.list({ queue })).length === 0 ? true : undefined),
        { what: 'the dead letter being gone' },
      );
      await server.client.stacks.delete({ stack });
      await deleted(server, stack);
    };

    it('a provider whose handler has a defect', async () => {
      const broken = await outsider('Broken');
      let dies = true;
      await broken.consume(async ({ message }) => {
        if (dies) {
          dies = false;
          throw new AnnealError('Defect', 'broken wire');
        }
        await broken.complete(message as Envelope<ResourceRequest>);
      });
      await create('broken', 'Test::Broken');
      await failsWithLetter('broken', broken);
    });

    it.runIf(name === 'NATS')('a message that a foreign consumer terminates', async () => {
      const terminated = await outsider('Terminated');
      await create('terminated', 'Test::Terminated');
      const link = await JetStreamConnection.open({
        url: backends!.broker.url,
        name: 'stranger',
        id: 'stranger',
        log: silent,
      });
      const { stream, durable } = link.names.address(terminated.queue);
      const api = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`;
      const { reply = '' } = await link.nc.request(api, '', { timeout: 30_000, noMux: true });
      link.nc.publish(reply, '+TERM not for me');
      await link.close();
      let taken = 0;
      await terminated.consume(async ({ message }) => {
        taken += 1;
        await terminated.complete(message as Envelope<ResourceRequest>);
      });
      await failsWithLetter('terminated', terminated);
      // The replay and the deletion: the terminated request itself was never handled.
      expect(taken).toBeGreaterThan(0);
    });
  });
}
