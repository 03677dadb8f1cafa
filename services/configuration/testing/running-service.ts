/** For tests: a configuration service on the real embedded bus and store, with a test engine and test hosts. */
import { createHash, randomUUID } from 'node:crypto';
import * as hostMessages from '@anneal/contracts/calls/host-messages.ts';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue, resourcesQueue } from '@anneal/contracts/queues.ts';
import {
  resourceCancel,
  resourceCreate,
  resourceDelete,
  resourceResume,
  resourceSuspend,
  resourceWithdraw,
  resourceUpdate,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext, type TestContextOptions } from '@anneal/runtime/testing.ts';
import { configurationService } from '../service.ts';

export const project = '00000000000000000000000000000001';
export const engineQueue = 'anneal.scheduling.shard.0';
const queue = requestsQueue('configuration');

const contractOf = {
  create: resourceCreate,
  delete: resourceDelete,
  suspend: resourceSuspend,
  resume: resourceResume,
  cancel: resourceCancel,
  withdraw: resourceWithdraw,
};

export interface Rig {
  readonly context: TestContext;
  readonly responses: ResourceResponse[];
  readonly events: Envelope[];
  ask<Q, A>(call: CallDefinition<Q, A>, data: Q): Promise<A>;
  request(action: keyof typeof contractOf | 'update', parameters: RequestParameters): Promise<ResourceRequest>;
  /** The final response for a resource under a fence. */
  final(resourceId: string, fence?: number): Promise<ResourceResponse>;
  host(name: string): Promise<{ id: string; token: string }>;
  claim(hostId: string, options?: { client_id?: string; ttl?: number }): Promise<Claimed | undefined>;
  /** Posts to the responses of a host as a user, who may answer for it. */
  post(hostId: string, ...bodies: Json[]): Promise<void>;
  /** Posts to the responses of a host with its token. */
  answer(host: { id: string; token: string }, ...bodies: Json[]): Promise<void>;
  event(type: string, subject: string): Promise<Envelope>;
  /** Stops the service and starts it with these settings, as an operator does. */
  restart(environment: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
  dispose(): Promise<void>;
}
export interface Claimed {
  readonly claim_id: string;
  readonly message: queueCalls.QueueMessage;
  readonly request: hostMessages.HostRequest;
}
export interface RequestParameters {
  type: string;
  properties: JsonObject;
  id?: string;
  name?: string;
  fence?: number;
  old?: JsonObject;
  seconds?: number;
  after?: ResourceRequest['after'];
}

export async function createRig(
  options: Partial<TestContextOptions> & { environment?: Record<string, string> } = {},
): Promise<Rig> {
  const { environment, ...rest } = options;
  const context = await createTestContext({ name: 'configuration', ...rest });
  let service = await startService(context, environment);
  const responses: ResourceResponse[] = [];
  const events: Envelope[] = [];
  const engine = await context.bus.consume(engineQueue, async ({ message }) => {
    responses.push(message.data as ResourceResponse);
  });
  const listener = await context.bus.subscribe(
    ['deployment.#', 'host.#', 'queue.#', 'context.#'],
    async ({ message }) => {
      events.push(message);
    },
  );
  let stopped = false;
  const rig: Rig = {
    context,
    responses,
    events,
    ask: (call, data) => context.bus.request({ queue, call, message: context.mint(call, { data, project }) }),
    async request(action, { type, properties, id: given, name, fence, old, seconds, after }) {
      const data: ResourceRequest = {
        resource: { id: given ?? randomUUID(), name: name ?? 'dep', type, physical_name: `stack-${name ?? 'dep'}-abc` },
        stack: { id: '11111111-1111-4111-8111-111111111111', name: 'stack' },
        traversal: 't1',
        fence: fence ?? 1,
        deadline: new Date(Date.now() + (seconds ?? 600) * 1000).toISOString(),
        physical_id: null,
        properties,
        attributes: {},
        ...(after && { after }),
      };
      const id = `${data.resource.id}:${data.fence}${action === 'cancel' ? ':cancel' : ''}`;
      const common = { project, id, replyto: engineQueue };
      const message =
        action === 'update'
          ? context.mint(resourceUpdate, {
              ...common,
              data: { ...data, old_properties: old ?? {}, changed: Object.keys(properties) },
            })
          : context.mint(contractOf[action], { ...common, data });
      await context.bus.send({ queue: resourcesQueue('configuration'), messages: [message] });
      return data;
    },
    final: (resourceId, fence = 1) =>
      eventually(
        () =>
          responses.find(
            (each) => each.resource_id === resourceId && each.fence === fence && each.status !== 'in progress',
          ),
        { what: `an answer about ${resourceId}`, last: () => responses },
      ),
    async host(name) {
      const id = randomUUID();
      const { token } = await rig.ask(hostCalls.hostCreate, { id, name, project });
      return { id, token };
    },
    async claim(hostId, claimOptions = {}) {
      const name = `host.${hostId}.requests`;
      const { claim_id, messages } = await rig.ask(queueCalls.queueClaim, {
        project,
        queue: name,
        ttl: claimOptions.ttl ?? 60,
        grace: 60,
        ...(claimOptions.client_id !== undefined && { client_id: claimOptions.client_id }),
      });
      const [message] = messages;
      if (claim_id === null || !message) return undefined;
      return { claim_id, message, request: hostMessages.hostRequestSchema.parse(message.body) };
    },
    async post(hostId, ...bodies) {
      await rig.ask(queueCalls.queuePost, {
        project,
        queue: `host.${hostId}.responses`,
        client_id: 'host',
        messages: bodies.map((body) => ({ body, ttl: 600 })),
      });
    },
    async answer({ id, token }, ...bodies) {
      const token_hash = createHash('sha256').update(token).digest('hex');
      await rig.ask(queueCalls.queuePost, {
        project,
        queue: `host.${id}.responses`,
        client_id: id,
        caller: { host_id: id, token_hash },
        messages: bodies.map((body) => ({ body, ttl: 600 })),
      });
    },
    event: (type, subject) =>
      eventually(() => events.find((each) => each.type === type && each.subject === subject), {
        what: `event ${type} of ${subject}`,
        last: () => events.map((each) => each.type),
      }),
    async restart(settings) {
      await service.stop();
      service = await startService(context, settings);
    },
    async stop() {
      if (stopped) return;
      stopped = true;
      await Promise.all([service.stop(), engine.stop(), listener.stop()]);
    },
    async dispose() {
      await rig.stop();
      await context.dispose();
    },
  };
  return rig;
}

/** A replica of the service. Several may share the bus and the store of a context. */
export const startService = (context: TestContext, environment: Record<string, string> = {}) =>
  configurationService.start(context, readSettings(configurationService.settings, environment));

export async function claimed(rig: Rig, hostId: string): Promise<Claimed> {
  const requests = `host.${hostId}.requests`;
  let waiting: unknown;
  return eventually(
    async () => {
      const found = await rig.claim(hostId);
      if (found) return found;
      const all = { include_claimed: true, echo: true, client_id: '', limit: 10 };
      ({ messages: waiting } = await rig.ask(queueCalls.queueMessages, { project, queue: requests, ...all }));
      return undefined;
    },
    { what: `a request for ${hostId}`, last: () => waiting },
  );
}
