/** A scheduling service on the real embedded bus and store, with a client for tests. */
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { stackCreate, stackDelete, stackShow, stackUpdate, type StackView } from '@anneal/contracts/calls/stacks.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { schedulingService } from '../service.ts';

export const project = 'p1';
export const literal = (value: Json): Expression => ({ kind: 'literal', value });
export const callOf = (name: string, ...values: Json[]): Expression => ({
  kind: 'call',
  function: name,
  arguments: literal(values.length === 1 ? (values[0] as Json) : values),
});

export function resource(
  name: string,
  properties: Record<string, Expression>,
  more: Partial<PlanResource> = {},
): PlanResource {
  return { name, type: 'OS::Heat::Value', properties, requires: [], ...more };
}

export function planWith(resources: readonly PlanResource[], more: Partial<Plan> = {}): Plan {
  return {
    format: 1,
    template_version: '2021-04-16',
    description: 'a test',
    parameters: {},
    resources: Object.fromEntries(resources.map((entry) => [entry.name, entry])),
    outputs: {},
    ...more,
  };
}

export interface Harness {
  readonly context: TestContext;
  readonly service: RunningService;
  ask<Q, A>(call: CallDefinition<Q, A>, data: Q): Promise<A>;
  create(name: string, plan: Plan, more?: { id?: string; timeout_minutes?: number }): Promise<StackView>;
  update(id: string, plan: Plan): Promise<StackView>;
  remove(id: string): Promise<StackView>;
  /** Waits until no action runs. Returns the stack with opened outputs. */
  settled(id: string, within?: number): Promise<StackView>;
  dispose(): Promise<void>;
}

export const testSettings = {
  shards: 2,
  batch: 256,
  cachedStacks: 16,
  allowPrivate: false,
  graceSeconds: 0,
  routeSeconds: 1,
  stackRequests: 1000,
  projectRequests: 2000,
  providerRequests: 2000,
  revisions: 10,
  garbageSeconds: 3600,
  keepExecutionsSeconds: 604_800,
  projectExecutions: 10_000,
  projectStacks: 10_000,
  projectResources: 1_000_000,
  projectBytes: 1_073_741_824,
  valueBytes: 1_048_576,
  resourceBytes: 4_194_304,
  stackBytes: 33_554_432,
  workerMemory: 256,
  evaluateSeconds: 60,
  waiting: 100,
};

export async function openHarness(
  options: { context?: TestContext; settings?: Partial<typeof testSettings> } = {},
): Promise<Harness> {
  const context = options.context ?? (await createTestContext({ name: 'scheduling' }));
  const service = await schedulingService.start(context, { ...testSettings, ...options.settings });
  const { bus, mint, newId, store } = context;

  const ask: Harness['ask'] = (call, data) =>
    bus.request({ queue: requestsQueue('scheduling'), call, message: mint(call, { data, project }) });
  const accepted = async (plan: Plan) => {
    const hash = await store.blobs.put(JSON.stringify(plan));
    return { plan: hash, template: hash, environment: hash, files: hash, description: plan.description };
  };
  return {
    context,
    service,
    ask,
    create: async (name, plan, more = {}) =>
      ask(stackCreate, {
        id: more.id ?? newId(),
        name,
        project,
        owner: 'admin',
        timeout_minutes: more.timeout_minutes ?? null,
        on_failure: 'keep',
        tags: [],
        ...(await accepted(plan)),
      }),
    update: async (id, plan) => ask(stackUpdate, { id, project, ...(await accepted(plan)) }),
    remove: (id) => ask(stackDelete, { id, project }),
    settled: (id, within = 10_000) => {
      let last: StackView | undefined;
      return eventually(
        async () => {
          const { outputs = [], ...view } = await ask(stackShow, { project, stack: id, outputs: true });
          last = { ...view, outputs: outputs.map((each) => ({ ...each, value: context.secrets.open(each.value) })) };
          return last.status === 'IN_PROGRESS' ? undefined : last;
        },
        { within, what: `the end of the action of ${id}`, last: () => last },
      );
    },
    async dispose() {
      await service.stop();
      await context.dispose();
    },
  };
}
