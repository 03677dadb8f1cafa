/** A provider in the test process, on the same broker and database as the services. */
import { openBus } from '@anneal/bus/open.ts';
import type { Bus, ConsumeOptions, Handler } from '@anneal/bus/port.ts';
import { createMint, type Envelope } from '@anneal/contracts/envelope.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { resourceResponse, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { announceTypes } from '@anneal/provider/routes.ts';
import { openStore } from '@anneal/store/open.ts';
import { pino } from 'pino';
import { v7 } from 'uuid';
import type { Backends } from './soak/distributed.ts';

export interface TestProvider {
  readonly bus: Bus;
  readonly queue: string;
  /** Takes requests from the queue of the type. */
  consume(handler: Handler, options?: ConsumeOptions): Promise<void>;
  complete(request: Envelope<ResourceRequest>): Promise<void>;
  close(): Promise<void>;
}

/** Resolves when the queue exists and the type is announced. Requests wait until `consume`. */
export async function openOutsider(options: Backends & { type: string; queue: string }): Promise<TestProvider> {
  const { broker, database, type, queue } = options;
  const source = 'anneal/outsider';
  const now = (): Date => new Date();
  const store = await openStore({ url: database.url });
  const log = pino({ level: 'silent' });
  const bus = await openBus({ url: broker.url, source, store, registry, newId: v7, now, log });
  const mint = createMint({ source, newId: v7, now });
  await bus.queues.declare(queue);
  const definition = { type, properties: { value: { type: 'Any' as const } }, attributes: {} };
  await announceTypes({ bus, mint }, { provider: queue, queue, types: [definition] });
  return {
    bus,
    queue,
    async consume(handler, consumeOptions) {
      await bus.consume(queue, handler, consumeOptions);
    },
    async complete(request) {
      const { resource, stack, fence } = request.data;
      const action = request.type.replace('resource.', '') as 'create';
      const data = { resource_id: resource.id, stack_id: stack.id, action, fence, status: 'complete' as const };
      const response = mint(resourceResponse, { id: `${request.id}:done`, cause: request, data });
      await bus.send({ queue: request.replyto ?? '', messages: [response] });
    },
    async close() {
      await bus.close();
      await store.close();
    },
  };
}
