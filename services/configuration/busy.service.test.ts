import { hostCreate, hostList } from '@anneal/contracts/calls/hosts.ts';
import { queuesOfService, requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced, resourceCreate, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { routeMessages, on } from '@anneal/bus/consume/route.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { expect, it } from 'vitest';
import { project, startService } from './testing/running-service.ts';

/** A store that keeps the writes of resources until `open` resolves. */
const withClosedResources = (store: Store, open: Promise<void>, onWait: () => void): Store => ({
  ...store,
  check: () => store.check(),
  close: () => store.close(),
  async collection<T extends Document>(definition: Parameters<Store['collection']>[0]) {
    const collection = await store.collection<T>(definition);
    if (definition.name !== 'configuration_resources') return collection;
    const waiting = async (): Promise<void> => {
      onWait();
      await open;
    };
    return new Proxy<Collection<T>>(collection, {
      get(target, name) {
        if (name === 'insert') return (document: T) => waiting().then(() => target.insert(document));
        if (name === 'bulk')
          return (operations: Parameters<typeof target.bulk>[0]) => waiting().then(() => target.bulk(operations));
        const method: unknown = Reflect.get(target, name);
        return typeof method === 'function' ? (method.bind(target) as unknown) : method;
      },
    });
  },
});

it('questions are answered while a stack keeps the service busy with its resources', async () => {
  const context = await createTestContext({ name: 'configuration' });
  const { bus, mint } = context;
  const gate = Promise.withResolvers<void>();
  let waits = 0;
  const store = withClosedResources(context.store, gate.promise, () => (waits += 1));
  let announced = '';
  const templating = await bus.consume(
    requestsQueue('templating'),
    routeMessages([on(providerAnnounced, async ({ data }) => void (announced = data.queue))]),
  );
  const service = await startService({ ...context, store }, { ANNEAL_CONFIGURATION_CONCURRENCY: '2' });
  try {
    const queue = await eventually(() => announced);
    expect(queuesOfService('configuration')).toContain(queue);
    const requests = Array.from({ length: 20 }, (_, at): ResourceRequest => {
      const name = `config${at}`;
      return {
        resource: { id: context.newId(), name, type: 'OS::Heat::SoftwareConfig', physical_name: `stack-${name}` },
        stack: { id: '11111111-1111-4111-8111-111111111111', name: 'stack' },
        traversal: 't1',
        fence: 1,
        deadline: new Date(Date.now() + 600_000).toISOString(),
        physical_id: null,
        properties: { config: 'true' },
        attributes: {},
      };
    });
    await bus.send({
      queue,
      messages: requests.map((data) => mint(resourceCreate, { project, data, replyto: 'anneal.scheduling.shard.0' })),
    });
    await eventually(() => waits === 2);
    const questions = requestsQueue('configuration');
    const host = { id: context.newId(), name: 'web', project };
    await bus.request({ queue: questions, call: hostCreate, message: mint(hostCreate, { project, data: host }) });
    const message = mint(hostList, { project, data: { project } });
    const { hosts } = await bus.request({ queue: questions, call: hostList, message });
    expect(hosts.map(({ name }) => name)).toEqual(['web']);
    expect(waits).toBe(2);
    gate.resolve();
    await eventually(async () => {
      const { depth, inFlight } = await bus.queues.measure(queue);
      return depth + inFlight === 0;
    });
  } finally {
    gate.resolve();
    await service.stop();
    await templating.stop();
    await context.dispose();
  }
});
