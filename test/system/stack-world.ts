/** Templating and scheduling on the real embedded bus and store, without HTTP. */
import { configurationService } from '@anneal/configuration/service.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import {
  resourceAct,
  stackResources,
  stackSignal,
  type ResourceAct,
  type ResourceView,
} from '@anneal/contracts/calls/resources.ts';
import {
  stackAct,
  stackCreate,
  stackDelete,
  stackEvents,
  stackList,
  stackShow,
  stackUpdate,
  type StackAct,
  type StackView,
} from '@anneal/contracts/calls/stacks.ts';
import { stackPreview, type PlannedChange } from '@anneal/contracts/calls/previews.ts';
import { type CompileQuestion, templateCompile } from '@anneal/contracts/calls/templating.ts';
import type { notificationService } from '@anneal/notification/service.ts';
import type { provisioningService } from '@anneal/provisioning/service.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';

const project = 'p1';

export interface StackInput {
  readonly template: string;
  readonly files?: Record<string, string>;
  readonly environment?: JsonObject | string;
  readonly parameters?: JsonObject;
}

/** A service beside templating and scheduling. */
type OtherService = typeof configurationService | typeof provisioningService | typeof notificationService;

export class StackWorld {
  readonly context: TestContext;
  readonly #services: RunningService[];

  static async open(
    settings: Record<string, string> = {},
    { hosts = false, also = [], now }: { hosts?: boolean; also?: readonly OtherService[]; now?: () => Date } = {},
  ): Promise<StackWorld> {
    const context = await createTestContext({ name: 'scheduling', ...(now && { now }) });
    const given = { ANNEAL_SCHEDULING_DELETE_GRACE_SECONDS: '0', ...settings };
    const services = await Promise.all(
      [templatingService, schedulingService, ...(hosts ? [configurationService] : []), ...also].map((service) => {
        const own = Object.entries(given).filter(([name]) => name.startsWith(`ANNEAL_${service.name.toUpperCase()}_`));
        return service.start(context, readSettings(service.settings, Object.fromEntries(own)) as never);
      }),
    );
    return new StackWorld(context, services);
  }

  private constructor(context: TestContext, services: RunningService[]) {
    this.context = context;
    this.#services = services;
  }

  ask<Q, A>(call: CallDefinition<Q, A>, data: Q, service: ServiceName = 'scheduling'): Promise<A> {
    const { bus, mint } = this.context;
    return bus.request({ queue: requestsQueue(service), call, message: mint(call, { data, project }) });
  }

  async #accepted(input: StackInput, { id, name, before }: { id: string; name: string; before?: string }) {
    const question: CompileQuestion = {
      project,
      stack_name: name,
      stack_id: id,
      template: input.template,
      environments: input.environment === undefined ? [] : [input.environment],
      files: input.files ?? {},
      parameters: input.parameters ?? {},
      ...(before !== undefined && { previous_plan: before }),
    };
    const { resource_count: _, ...accepted } = await this.ask(templateCompile, question, 'templating');
    return accepted;
  }

  async create(
    name: string,
    input: StackInput,
    more: { on_failure?: 'keep' | 'rollback' | 'pause'; adopt?: JsonObject; tags?: string[]; occasion?: Occasion } = {},
  ): Promise<StackView> {
    const id = this.context.newId();
    return this.ask(stackCreate, {
      id,
      name,
      project,
      owner: 'admin',
      timeout_minutes: null,
      on_failure: more.on_failure ?? 'keep',
      tags: more.tags ?? [],
      ...(more.adopt && { adopt: more.adopt }),
      ...(more.occasion && { occasion: more.occasion }),
      ...(await this.#accepted(input, { id, name })),
    });
  }

  /** Creates a stack and waits until it is COMPLETE. */
  async createAndWait(name: string, input: StackInput): Promise<StackView> {
    const { id } = await this.create(name, input);
    return this.complete(id);
  }

  async update(
    id: string,
    input: StackInput,
    more: { plan_hash?: string; tags?: string[]; occasion?: Occasion } = {},
  ): Promise<StackView> {
    const { name, plan } = await this.show(id);
    const accepted = await this.#accepted(input, { id, name, before: plan });
    return this.ask(stackUpdate, { id, project, ...accepted, ...more });
  }

  async plan(
    id: string,
    input: StackInput,
  ): Promise<{ hash: string; changes: readonly PlannedChange[]; rows: string[] }> {
    const { name, plan } = await this.show(id);
    const accepted = await this.#accepted(input, { id, name, before: plan });
    const { hash, changes } = await this.ask(stackPreview, { id, project, ...accepted });
    return { hash, changes, rows: changes.map(({ resource, change, step }) => `${step} ${change} ${resource}`) };
  }

  async updated(id: string, input: StackInput): Promise<StackView> {
    await this.update(id, input);
    return this.complete(id);
  }

  remove(id: string): Promise<StackView> {
    return this.ask(stackDelete, { id, project });
  }

  /** The stack with its outputs opened, as the gateway shows them. */
  async show(id: string): Promise<StackView> {
    const { outputs = [], ...stack } = await this.ask(stackShow, { project, stack: id, outputs: true });
    const { secrets } = this.context;
    return { ...stack, outputs: outputs.map((output) => ({ ...output, value: secrets.open(output.value) })) };
  }

  act(id: string, action: StackAct): Promise<StackView> {
    return this.ask(stackAct, { project, stack: id, action });
  }

  actOn(id: string, resource: string, action: ResourceAct): Promise<unknown> {
    return this.ask(resourceAct, { project, stack: id, resource, action });
  }

  signal(id: string, resource: string, signal: Json, occasion?: Occasion): Promise<unknown> {
    return this.ask(stackSignal, { project, stack: id, resource, signal, ...(occasion && { occasion }) });
  }

  async settled(id: string, within = 20_000): Promise<StackView> {
    let last: StackView | undefined;
    return eventually(
      async () => {
        last = await this.show(id);
        return last.status === 'IN_PROGRESS' ? undefined : last;
      },
      { within, what: `the end of the action of ${id}`, last: () => last },
    );
  }

  async complete(id: string, within?: number): Promise<StackView> {
    const stack = await this.settled(id, within);
    if (stack.status === 'COMPLETE') return stack;
    throw new Error(`${stack.action}_${stack.status}: ${stack.reason} ${JSON.stringify(stack.failures)}`);
  }

  outputs({ outputs = [] }: StackView): JsonObject {
    return Object.fromEntries(outputs.map(({ key, value }) => [key, value]));
  }

  async resources(id: string, depth = 0): Promise<ResourceView[]> {
    const question = { project, stack: id, detail: true, nested_depth: depth };
    return (await this.ask(stackResources, question)).resources;
  }

  async stacks(nested: boolean): Promise<StackView[]> {
    return (await this.ask(stackList, { project, nested })).stacks;
  }

  async events(id: string, depth = 0): Promise<string[]> {
    const question = { project, stack: id, descending: false, nested_depth: depth };
    const { events } = await this.ask(stackEvents, question);
    return events.map(({ resource_name: name, action, status }) => `${name} ${action} ${status}`);
  }

  async close(): Promise<void> {
    for (const service of this.#services) await service.stop();
    await this.context.dispose();
  }
}
