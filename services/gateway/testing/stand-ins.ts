/**
 * Test services behind the gateway: small programs that answer the same calls on the real bus. They keep just enough
 * state for a client to see the effect of its requests.
 */
import { answer, on, routeMessages, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { hostAuthenticate, hostList, type HostView } from '@anneal/contracts/calls/hosts.ts';
import {
  queueClaim,
  queueClaimRelease,
  queueClaimRenew,
  queueClaimShow,
  queueCreate,
  queueDelete,
  queueList,
  queueMessageDelete,
  queueMessages,
  queuePost,
  queueShow,
  type QueueMessage,
  type QueueView,
} from '@anneal/contracts/calls/queues.ts';
import { runConfig } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { runReport } from '@anneal/contracts/output.ts';
import { queueFilled } from '@anneal/contracts/events.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { bootDocumentShow, bootExchange, bootLoad, bootReport } from '@anneal/contracts/calls/boot.ts';
import { nodeEnrol, nodeList, nodePower, nodeShow, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import {
  stackCreate,
  stackDelete,
  stackEvents,
  stackList,
  stackShow,
  stackUpdate,
  type StackEvent,
  type StackView,
} from '@anneal/contracts/calls/stacks.ts';
import { stackPreview } from '@anneal/contracts/calls/previews.ts';
import { stackResources, stackSignal, type ResourceView } from '@anneal/contracts/calls/resources.ts';
import {
  resourceTypeList,
  templateCompile,
  templateValidate,
  type CompileQuestion,
} from '@anneal/contracts/calls/templating.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

const at = '2026-11-21T12:34:01.250Z';

export const hostToken = 'host-token-of-h1';
export const host = {
  host_id: '0192aaaa-0000-7000-8000-000000000001',
  name: 'serv1',
  project: '00000000000000000000000000000001',
  requests_queue: 'host.0192aaaa-0000-7000-8000-000000000001.requests',
  responses_queue: 'host.0192aaaa-0000-7000-8000-000000000001.responses',
} as const;

export interface Behind {
  readonly compiled: CompileQuestion[];
  /** The same calls as raw bus messages. */
  readonly sent: string[];
  readonly signals: Json[];
  readonly reports: Json[];
  /** The configs that requests refer to, by the ids of the requests. */
  readonly configs: Map<string, string>;
  /** Ends the claims of a queue, as their time does. */
  release(queue: string): void;
  /** The number of renewed claims. */
  renewals(): number;
  /** Puts a message into a queue, as the configuration service would. */
  post(queue: string, body: Json): Promise<void>;
  messages(queue: string): QueueMessage[];
  setStack(id: string, change: Partial<StackView>): void;
  stop(): Promise<void>;
}

export async function standIn(context: ServiceContext): Promise<Behind> {
  const { bus, store, mint } = context;
  const compiled: CompileQuestion[] = [];
  const sent: string[] = [];
  const signals: Json[] = [];
  const reports: Json[] = [];
  const configs = new Map<string, string>();
  const stacks = new Map<string, StackView>();
  const nodes = new Map<string, NodeView>();
  const queues = new Map<string, { metadata: JsonObject; messages: QueueMessage[] }>();
  let count = 0;
  let renewed = 0;

  const stackOf = (project: string, named: string): StackView => {
    const found =
      stacks.get(named) ?? [...stacks.values()].find(({ name, deleted_at }) => name === named && deleted_at === null);
    if (found?.project === project) return found;
    throw new AnnealError('NotFound', `There is no stack ${named}.`);
  };
  const seal = (value: string) => context.secrets.seal(value);
  const resourceOf = (stack: StackView): ResourceView => ({
    id: 'r1',
    name: 'v',
    type: 'OS::Heat::Value',
    stack_id: stack.id,
    stack_name: stack.name,
    action: 'CREATE',
    status: 'COMPLETE',
    reason: 'state changed',
    physical_id: `${stack.name}-v-qs3iwuuvp2fa`,
    requires: [],
    required_by: ['t'],
    created_at: at,
    updated_at: at,
    started_at: at,
    finished_at: at,
    description: '',
    version: 1,
    conditions: [],
    attributes: { value: 'x' },
    properties: { value: 'x' },
    metadata: {},
  });
  const eventsOf = (stack: StackView): StackEvent[] =>
    [
      [stack.name, 'OS::Heat::Stack', stack.id, 'IN_PROGRESS', 'Stack CREATE started'],
      ['v', 'OS::Heat::Value', 'ref-v-qs3iwuuvp2fa', 'IN_PROGRESS', 'state changed'],
      ['v', 'OS::Heat::Value', 'ref-v-qs3iwuuvp2fa', 'COMPLETE', 'state changed'],
      [stack.name, 'OS::Heat::Stack', stack.id, 'COMPLETE', 'Stack CREATE completed successfully'],
    ].map(([name = '', type = '', physical = '', status = '', reason = ''], index) => ({
      id: `00000000-0000-4000-8000-00000000000${index + 1}`,
      stack_id: stack.id,
      stack_name: stack.name,
      sequence: index + 1,
      time: at,
      resource_name: name,
      resource_type: type,
      physical_id: physical,
      action: 'CREATE',
      status,
      reason,
    }));

  const scheduling = [
    answer(context, stackCreate, async ({ data: { owner, ...data } }) => {
      if ([...stacks.values()].some(({ name, deleted_at }) => name === data.name && deleted_at === null)) {
        throw new AnnealError('AlreadyExists', `There is a stack ${data.name} already.`);
      }
      const stack: StackView = {
        ...data,
        owner,
        action: 'CREATE',
        status: 'IN_PROGRESS',
        reason: 'Stack CREATE started',
        created_at: at,
        updated_at: null,
        deleted_at: null,
        parent: null,
        parent_resource: null,
        root: data.id,
        depth: 0,
        traversal: 't1',
        version: 1,
        conditions: [],
        parameters: { size: 2, whisper: '******' },
        failures: [],
      };
      stacks.set(stack.id, stack);
      return stack;
    }),
    answer(context, stackPreview, async () => ({
      hash: 'h',
      changes: [],
      parameters: { 'OS::stack_id': 'x', 'OS::stack_name': 'later', size: 2 },
    })),
    answer(context, stackUpdate, async ({ data }) => {
      const before = stackOf(data.project, data.id);
      const after: StackView = {
        ...before,
        ...(data.tags && { tags: data.tags }),
        plan: data.plan,
        action: 'UPDATE',
        status: 'IN_PROGRESS',
        updated_at: at,
        version: before.version + 1,
      };
      stacks.set(after.id, after);
      return after;
    }),
    answer(context, stackDelete, async ({ data }) => {
      const stack: StackView = {
        ...stackOf(data.project, data.id),
        action: 'DELETE',
        status: 'COMPLETE',
        deleted_at: at,
      };
      stacks.set(stack.id, stack);
      return stack;
    }),
    answer(context, stackShow, async ({ data: { project, stack: named, outputs } }) => {
      const stack = stackOf(project, named);
      const values = [
        { key: 'value', description: 'The value', value: 'PpTN3d25oOLd' },
        { key: 'all', description: '', value: ['zPsSFWPa', '50c0XOYE'] },
      ];
      return { ...stack, ...(outputs && { outputs: values }) };
    }),
    answer(context, stackList, async ({ data: { project, names, deleted, marker } }) => ({
      stacks: [...stacks.values()].filter(
        (stack) =>
          stack.project === project &&
          marker === undefined &&
          (deleted === true || stack.deleted_at === null) &&
          (names?.includes(stack.name) ?? true),
      ),
    })),
    answer(context, stackResources, async ({ data: { project, stack: named, name } }) => {
      const stack = stackOf(project, named);
      const one = resourceOf(stack);
      const sealed: Record<string, Partial<ResourceView>> = {
        handle: { type: 'OS::Heat::WaitConditionHandle', attributes: { signal: seal('{"token": "t"}') } },
        secret: { attributes: { value: seal('hush') } },
      };
      if (name !== undefined && name in sealed) return { stack, resources: [{ ...one, ...sealed[name], name }] };
      return { stack, resources: name === undefined || name === 'v' ? [one] : [] };
    }),
    answer(context, stackEvents, async ({ data: { project, stack: named, resource, descending, marker, limit } }) => {
      const stack = stackOf(project, named);
      const all = eventsOf(stack).filter((event) => resource === undefined || event.resource_name === resource);
      const ordered = descending ? all.toReversed() : all;
      const from = ordered.findIndex(({ id }) => id === marker) + 1;
      return { stack, events: ordered.slice(from, from + (limit ?? 1000)) };
    }),
    answer(context, stackSignal, async ({ data }) => {
      signals.push(data.signal);
      return {};
    }),
  ];

  const templating = [
    answer(context, templateCompile, async ({ data }) => {
      sent.push(JSON.stringify(data));
      compiled.push(context.secrets.open(data as Json) as unknown as CompileQuestion);
      if (JSON.stringify(data.template ?? '').includes('OS::No::Such')) {
        throw new AnnealError('InvalidTemplate', 'The Resource Type (OS::No::Such) could not be found.', {
          mistakes: [
            { code: 'UnknownType', path: 'resources.x.type', message: 'no such type', nearest: 'OS::Heat::None' },
          ],
        });
      }
      const put = (value: Json | Record<string, string>): Promise<string> => store.blobs.put(JSON.stringify(value));
      return {
        plan: 'plan-hash',
        template: await put(data.template ?? {}),
        environment: await put({ parameters: { size: 2, whisper: 'hush' } }),
        files: await put(data.files),
        description: 'Reference stack',
        resource_count: 1,
      };
    }),
    answer(context, templateValidate, async ({ data }) => ({
      Description: `checked for ${data.project}`,
      Parameters: {},
      ...(data.show_nested && { NestedParameters: {} }),
    })),
    answer(context, resourceTypeList, async () => ({
      types: [
        {
          type: 'OS::Heat::Value',
          provider: 'anneal.scheduling',
          description: 'A value.',
          properties: { value: { type: 'Any' as const, required: true } },
          attributes: { value: { type: 'Any', description: 'The value.' } },
        },
        { type: 'OS::Heat::None', provider: 'anneal.scheduling', properties: {}, attributes: {} },
      ],
    })),
  ];

  const queueOf = (name: string): { metadata: JsonObject; messages: QueueMessage[] } => {
    const found = queues.get(name);
    if (found) return found;
    throw new AnnealError('NotFound', `There is no queue ${name}.`);
  };
  const viewOf = (name: string): QueueView => {
    const { metadata, messages } = queueOf(name);
    const claimed = messages.filter(({ claim_id }) => claim_id !== null).length;
    const total = messages.length;
    return {
      name,
      metadata,
      total,
      claimed,
      free: total - claimed,
      oldest_age: total > 0 ? 0 : null,
      host_id: name.startsWith('host.') ? host.host_id : null,
      post_bytes: 524_288,
    };
  };
  const viewOfAbsent = (name: string): QueueView => ({
    name,
    metadata: {},
    total: 0,
    claimed: 0,
    free: 0,
    oldest_age: null,
    host_id: null,
    post_bytes: 524_288,
  });
  const post = async (queue: string, bodies: { body: Json; ttl: number }[]): Promise<string[]> => {
    if (!queues.has(queue)) queues.set(queue, { metadata: {}, messages: [] });
    const { messages } = queueOf(queue);
    const ids = bodies.map(({ body, ttl }) => {
      count += 1;
      messages.push({ id: `m${count}`, body, ttl, age: 0, created_at: at, claim_id: null, claim_count: 0 });
      return `m${count}`;
    });
    await bus.publish([mint(queueFilled, { data: { project: host.project, queue }, project: host.project })]);
    return ids;
  };

  const hostView: HostView = {
    id: host.host_id,
    name: host.name,
    project: host.project,
    status: 'up',
    requests_queue: host.requests_queue,
    responses_queue: host.responses_queue,
    facts: {},
    created_at: at,
    first_seen_at: null,
    last_seen_at: null,
    pending: 0,
    version: 1,
    conditions: [],
  };
  const configuration = [
    answer(context, hostAuthenticate, async ({ data }) => {
      if (data.token !== hostToken) throw new AnnealError('Unauthorized', 'This is the token of no host.');
      return host;
    }),
    answer(context, hostList, async () => ({ hosts: [hostView] })),
    answer(context, queueCreate, async ({ data: { queue, metadata } }) => {
      const before = queues.get(queue);
      queues.set(queue, { messages: before?.messages ?? [], metadata: metadata ?? before?.metadata ?? {} });
      return { created: before === undefined };
    }),
    answer(context, queueShow, async ({ data }) =>
      data.or_empty === true && !queues.has(data.queue) ? viewOfAbsent(data.queue) : viewOf(data.queue),
    ),
    answer(context, queueList, async () => ({ queues: [...queues.keys()].sort().map(viewOf) })),
    answer(context, queueDelete, async ({ data }) => {
      queueOf(data.queue);
      queues.delete(data.queue);
      return {};
    }),
    // Stores nothing, as when the limit is reached.
    answer(context, runReport, async ({ data }) => ({
      stop: [...(queues.get(host.requests_queue)?.messages ?? [])].every(
        ({ body }) => (body as { id?: unknown }).id !== data.id,
      ),
      stored: data.pieces.map(({ name }) => ({ name, bytes: 0, full: true })),
    })),
    answer(context, queuePost, async ({ data }) => {
      sent.push(JSON.stringify(data));
      return {
        ids: await post(
          data.queue,
          data.messages.map(({ ttl = 3600, ...message }) => ({ ...message, ttl })),
        ),
      };
    }),
    answer(context, queueMessages, async ({ data: { queue, ids, marker, limit, include_claimed: all } }) => {
      const { messages } = queueOf(queue);
      const from = messages.findIndex(({ id }) => id === marker) + 1;
      const found = messages
        .slice(from)
        .filter(({ id, claim_id }) => (ids ? ids.includes(id) : all || claim_id === null))
        .slice(0, limit);
      return { messages: found, marker: found.at(-1)?.id ?? null };
    }),
    answer(context, queueMessageDelete, async ({ data: { queue, ids, pop, purge, claim_id: claim } }) => {
      const kept = queueOf(queue);
      const gone =
        pop === undefined ? kept.messages.filter(({ id }) => purge || ids?.includes(id)) : kept.messages.slice(0, pop);
      if (pop === undefined && gone.some(({ claim_id }) => claim_id !== null && claim_id !== claim)) {
        throw new AnnealError('Forbidden', 'This message is claimed; it cannot be deleted without a valid claim ID.');
      }
      kept.messages = kept.messages.filter((message) => !gone.includes(message));
      return { messages: gone };
    }),
    answer(context, queueClaim, async ({ data: { queue, limit } }) => {
      const { messages } = queueOf(queue);
      // A host's queue offers its head, and nothing while the head is claimed.
      const free = queue.startsWith('host.')
        ? messages.slice(0, 1).filter(({ claim_id }) => claim_id === null)
        : messages.filter(({ claim_id }) => claim_id === null).slice(0, limit ?? 10);
      if (free.length === 0) return { claim_id: null, messages: [] };
      count += 1;
      const claim = `c${count}`;
      const claimed = free.map((message) => ({ ...message, claim_id: claim, claim_count: message.claim_count + 1 }));
      queueOf(queue).messages = messages.map((message) => claimed.find(({ id }) => id === message.id) ?? message);
      return { claim_id: claim, messages: claimed };
    }),
    answer(context, runConfig, async ({ data: { run, input, caller } }) => {
      const config = configs.get(input === undefined ? run : `${run} ${input}`);
      if (config === undefined || caller?.host_id !== host.host_id)
        throw new AnnealError('NotFound', 'No such request.');
      return { blob: await store.blobs.put(`first line\n${JSON.stringify(config)}`) };
    }),
    answer(context, queueClaimShow, async ({ data: { queue, claim_id: claim } }) => {
      const messages = queueOf(queue).messages.filter(({ claim_id }) => claim_id === claim);
      if (messages.length === 0) throw new AnnealError('NotFound', 'No such claim.');
      return { claim_id: claim, age: 0.5, ttl: 60, messages };
    }),
    answer(context, queueClaimRenew, async ({ data: { queue, claim_id: claim } }) => {
      if (!queueOf(queue).messages.some(({ claim_id }) => claim_id === claim)) {
        throw new AnnealError('NotFound', 'No such claim.');
      }
      renewed += 1;
      return {};
    }),
    answer(context, queueClaimRelease, async ({ data: { queue, claim_id: claim } }) => {
      const kept = queueOf(queue);
      kept.messages = kept.messages.map((message) =>
        message.claim_id === claim ? { ...message, claim_id: null } : message,
      );
      return {};
    }),
  ];

  const nodeOf = (named: string): NodeView => {
    const found = [...nodes.values()].find(({ id, name }) => id === named || name === named);
    if (found) return found;
    throw new AnnealError('NotFound', `Node ${named} could not be found.`);
  };
  const provisioning = [
    answer(context, nodeEnrol, async ({ data: { id, name, driver, driver_info, resource_class, traits } }) => {
      const node: NodeView = {
        id,
        name,
        driver,
        resource_class,
        traits,
        extra: {},
        retired: false,
        retired_reason: null,
        protected: false,
        protected_reason: null,
        owner: null,
        lessee: null,
        description: null,
        step: null,
        driver_info: 'redfish_address' in driver_info ? { redfish_address: driver_info.redfish_address } : {},
        provision_state: 'enroll',
        target_provision_state: null,
        power_state: null,
        target_power_state: null,
        properties: {},
        instance_id: null,
        instance_info: {},
        maintenance: false,
        maintenance_reason: null,
        fault: null,
        reservation: null,
        last_error: null,
        created_at: at,
        updated_at: at,
        provision_updated_at: null,
        version: 1,
        conditions: [],
        chassis_id: null,
        shard: null,
        interfaces: {},
        allocation_id: null,
        target_raid: {},
        console_enabled: null,
        bmc: null,
        progress: null,
      };
      nodes.set(node.id, node);
      return node;
    }),
    answer(context, nodeList, async ({ data: { limit, marker, provision_state: state, instance_id: instance } }) => {
      const all = [...nodes.values()]
        .filter((node) => state === undefined || node.provision_state === state)
        .filter((node) => instance === undefined || node.instance_id === instance)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const start = marker === undefined ? 0 : all.findIndex(({ id }) => id === marker) + 1;
      return { nodes: all.slice(start, start + (limit ?? all.length)) };
    }),
    answer(context, nodeShow, async ({ data }) => nodeOf(data.node)),
    answer(context, nodePower, async ({ data: { node: named, target } }) => {
      const node: NodeView = { ...nodeOf(named), target_power_state: target === 'power on' ? 'power on' : 'power off' };
      nodes.set(node.id, node);
      return node;
    }),
    answer(context, bootDocumentShow, async ({ data }) => {
      if (data.secret !== 'right-secret') throw new AnnealError('NotFound', 'No such secret.');
      return { format: 2 as const, purpose: 'deploy' as const, node: 'machine-1' };
    }),
    answer(context, bootExchange, async ({ data }) => {
      if (data.secret !== 'right-secret') throw new AnnealError('NotFound', 'No such secret.');
      return {
        format: 1 as const,
        purpose: 'deploy' as const,
        host_id: host.host_id,
        hostname: host.name,
        gateway_url: 'http://127.0.0.1:1',
        project: host.project,
        token: hostToken,
        requests_queue: host.requests_queue,
        responses_queue: host.responses_queue,
        user_data: '',
        metadata: {},
      };
    }),
    answer(context, bootLoad, async ({ data }) => {
      reports.push(data);
      return {};
    }),
    answer(context, bootReport, async ({ data: { code, powers_off, unreachable, ...data } }) => {
      const causes = { ...(code && { code }), ...(unreachable && { unreachable }) };
      reports.push({ ...data, ...causes, ...(powers_off && { powers_off }) });
      return {};
    }),
  ];

  // The gateway is a provider too, and announces its types.
  const announced = on(providerAnnounced, () => Promise.resolve());
  const all: [ServiceName, MessageRoute[]][] = [
    ['scheduling', [...scheduling, announced]],
    ['templating', [...templating, announced]],
    ['configuration', configuration],
    ['provisioning', provisioning],
  ];
  const consumers = await Promise.all(
    all.map(([name, routes]) => bus.consume(requestsQueue(name), routeMessages(routes))),
  );
  return {
    compiled,
    sent,
    renewals: () => renewed,
    signals,
    reports,
    configs,
    release: (queue) => {
      const kept = queueOf(queue);
      kept.messages = kept.messages.map((message) => ({ ...message, claim_id: null }));
    },
    post: async (queue, body) => void (await post(queue, [{ body, ttl: 600 }])),
    messages: (queue) => queues.get(queue)?.messages ?? [],
    setStack(id, change) {
      const stack = stacks.get(id);
      if (stack) stacks.set(id, { ...stack, ...change });
    },
    async stop() {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },
  };
}
