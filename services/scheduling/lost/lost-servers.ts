/**
 * Replaces a server whose machine died, when its environment says so: a report that its host fell silent, or that its
 * node has a fault, is noted as a loss and sets a durable timer, and a report of the opposite ends both. The timer marks
 * the server as unhealthy and updates the stack around it to the plan that it has, as an operator would.
 *
 * L1 A server is replaced only while its host is silent, or its node has the fault, as the services say at that moment.
 * L2 Only a stack at rest is updated. While it is changed, has failed, or is suspended, the server waits.
 * L3 A timer that fires twice replaces once: a repeated mark changes nothing, and the server that replaced it has another id.
 * L4 The loss of a server without such a policy is noted too. When an update brings the policy, the timer counts from the loss.
 */
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { systemOccasion } from '@anneal/contracts/origin.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { hostShow } from '@anneal/contracts/calls/hosts.ts';
import { nodeList } from '@anneal/contracts/calls/nodes.ts';
import { resourceAct } from '@anneal/contracts/calls/resources.ts';
import { stackUpdate } from '@anneal/contracts/calls/stacks.ts';
import { representative, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Plans } from '../plans/plans.ts';
import { signText } from '../groups/lost.ts';
import { planHash } from '../nested/preview.ts';
import { targetOf } from '../plans/target.ts';
import { lossId, type Loss } from '../documents/loss.ts';
import { stackTimers } from '../documents/stack-timers.ts';

/** Interval at which a server waits for its stack. */
const retryMs = 15_000;
/** The most losses of one tree that an explanation reads. */
const mostExplained = 100;

/** A loss of a host, or its end. */
export interface HostLoss extends Pick<Loss, 'sign' | 'reason'> {
  readonly host_id: string;
  readonly lost: boolean;
}

/** A lost server that is replaced by its own policy. */
export interface PendingReplacement {
  readonly stack: StackDocument;
  readonly resource: ResourceDocument;
  readonly since: string;
  /** How people read the loss. */
  readonly text: string;
  /** When it is replaced, unless it is back before, or its stack is not at rest. */
  readonly at: string;
}

type Policy = NonNullable<PlanResource['replace_lost']>;

/** The resource of a lost server, which its name still means. */
interface Found {
  readonly resource: ResourceDocument;
  readonly stack: StackDocument;
  /** Undefined when the environment of the server has none. */
  readonly policy: Policy | undefined;
}

export interface LostServersParts {
  readonly context: Pick<ServiceContext, 'bus' | 'log' | 'mint' | 'now'>;
  readonly collections: Pick<SchedulingCollections, 'losses' | 'resources' | 'stacks'>;
  readonly plans: Plans;
  readonly timers: () => Timers;
}

/** The servers that are replaced without a group. Every method is safe under redelivery. */
export class LostServers {
  readonly #parts: LostServersParts;

  constructor(parts: LostServersParts) {
    this.#parts = parts;
  }

  /** Notes a loss or its end, and sets or cancels the timer. False for a resource without such a policy. */
  async take(resource: ResourceDocument, report: HostLoss, from: { time: string; event: string }): Promise<boolean> {
    const { sign, reason, lost } = report;
    const { losses, stacks } = this.#parts.collections;
    const stack = await stacks.get(resource.stack_id);
    if (!stack) return false;
    const policy = await this.#policyOf(stack, resource);
    const loss: Loss = { server: resource.id, sign, since: from.time, event: from.event, ...(reason && { reason }) };
    if (lost) {
      await losses.bulk([{ kind: 'put', document: { id: lossId(loss), root: stack.root, ...loss } }]);
      await this.#setTimer(loss, policy);
    } else if (await losses.get(lossId(loss))) await this.#forget([loss]);
    return policy !== undefined;
  }

  /** Sets the timers of a tree whose update has ended, and forgets the losses of servers that it replaced or removed (L4). */
  async updated(root: string): Promise<void> {
    for (const loss of await this.#parts.collections.losses.find({ where: { root } })) {
      const found = await this.#find(loss);
      if (found) await this.#setTimer(loss, found.policy);
      else await this.#forget([loss]);
    }
  }

  /** Forgets the losses of a tree that is deleted. */
  async removed(root: string): Promise<void> {
    await this.#forget(await this.#parts.collections.losses.find({ where: { root } }));
  }

  /** The replacements that a server, or a tree, waits for. The next one is first. */
  async pending(which: { readonly server: string } | { readonly root: string }): Promise<PendingReplacement[]> {
    const { losses } = this.#parts.collections;
    const noted =
      'root' in which
        ? await losses.find({ where: { root: which.root }, limit: mostExplained })
        : await losses.getMany(signs.map((sign) => lossId({ server: which.server, sign })));
    const all = await Promise.all(
      noted.map(async (loss): Promise<PendingReplacement[]> => {
        const found = await this.#find(loss);
        if (!found?.policy || !counts(found.policy, loss)) return [];
        const at = new Date(dueAt(found.policy, loss)).toISOString();
        return [{ stack: found.stack, resource: found.resource, since: loss.since, text: textOf(loss), at }];
      }),
    );
    return all.flat().toSorted((a, b) => a.at.localeCompare(b.at));
  }

  /** Replaces the server of the timer, waits again, or does nothing. @throws AnnealError when another service does not answer */
  async fire(loss: Loss, firedAt: number): Promise<void> {
    const { collections, context, timers } = this.#parts;
    const found = await this.#find(loss);
    if (!found) return this.#forget([loss]);
    const { resource, stack, policy } = found;
    if (!policy || !counts(policy, loss)) return;
    const now = context.now().getTime();
    if (dueAt(policy, loss) > now) return this.#setTimer(loss, policy);
    if (!(await this.#isLost(loss, stack.project))) return this.#forget([loss]);
    const root = await collections.stacks.get(stack.root);
    if (!root) return;
    if (!isAtRest(root) || !(await this.#replace({ loss, resource, stack, root, firedAt }))) {
      await timers().set([timerOf(loss, now + retryMs)]);
    }
  }

  async #setTimer(loss: Loss, policy: Policy | undefined): Promise<void> {
    if (policy && counts(policy, loss)) await this.#parts.timers().set([timerOf(loss, dueAt(policy, loss))]);
  }

  async #forget(losses: readonly Loss[]): Promise<void> {
    if (losses.length === 0) return;
    const ids = losses.map(lossId);
    await this.#parts.collections.losses.bulk(ids.map((id) => ({ kind: 'remove', id })));
    await this.#parts.timers().cancel(ids);
  }

  /** Undefined when the server was replaced, or is being deleted (L3). */
  async #find({ server }: Loss): Promise<Found | undefined> {
    const { resources, stacks } = this.#parts.collections;
    const resource = await resources.get(server);
    const stack = resource && (await stacks.get(resource.stack_id));
    if (!resource || !stack || !(await this.#isServing(resource))) return undefined;
    return { resource, stack, policy: await this.#policyOf(stack, resource) };
  }

  /** L3: a server that was replaced, or is being deleted, is no longer the one that its name means. */
  async #isServing({ id, stack_id, name, action }: ResourceDocument): Promise<boolean> {
    const all = await this.#parts.collections.resources.find({ where: { stack_id, name } });
    return representative(all)?.id === id && action !== 'DELETE';
  }

  async #policyOf(stack: StackDocument, { name }: ResourceDocument): Promise<Policy | undefined> {
    const { resources } = await this.#parts.plans.of(stack);
    return Object.hasOwn(resources, name) ? resources[name]?.replace_lost : undefined;
  }

  /** L1 */
  async #isLost({ server, sign }: Loss, project: string): Promise<boolean> {
    if (sign === 'silence') {
      const data = { project, host: server };
      const host = await this.#ask('configuration', hostShow, { data, project }).catch(ignoreNotFound);
      return host?.status === 'silent';
    }
    const { nodes } = await this.#ask('provisioning', nodeList, { data: { instance_id: server }, project });
    return nodes.some(({ fault }) => fault !== null);
  }

  /** False when the stack changed meanwhile (L2). */
  async #replace(parameters: {
    loss: Loss;
    resource: ResourceDocument;
    stack: StackDocument;
    root: StackDocument;
    firedAt: number;
  }): Promise<boolean> {
    const { loss, resource, stack, root, firedAt } = parameters;
    const { log } = this.#parts.context;
    const { project } = stack;
    const reason = textOf(loss);
    const occasion = systemOccasion('replacement', { id: loss.event, reason });
    const id = `${lossId(loss)}:${firedAt}`;
    const mark = {
      project,
      stack: stack.id,
      resource: resource.name,
      action: { kind: 'mark' as const, unhealthy: true, reason },
      occasion,
    };
    try {
      await this.#ask('scheduling', resourceAct, { id: `${id}:mark`, data: mark, project });
      const marked = await this.#parts.collections.stacks.get(root.id);
      if (!marked || !isAtRest(marked) || !(await this.#hasReachedRoot(stack))) return false;
      const target = targetOf(marked.target, '');
      const update = { id: root.id, project, ...target, plan_hash: planHash(marked, marked.target), occasion };
      await this.#ask('scheduling', stackUpdate, { id: `${id}:update`, data: update, project });
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
      log.info({ err: error, stack: root.name, resource: resource.name }, 'lost server not replaced yet; trying again');
      return false;
    }
    log.info({ stack: root.name, resource: resource.name, reason }, 'lost server is being replaced');
    return true;
  }

  /** An update enters only nested stacks that their parents know to differ. A mark reports that to them by messages. */
  async #hasReachedRoot(stack: StackDocument): Promise<boolean> {
    const { resources, stacks } = this.#parts.collections;
    for (let at: StackDocument | undefined = stack; at?.parent; at = await stacks.get(at.parent.stack_id)) {
      const holder = await resources.get(at.parent.resource_id);
      if (!holder || (holder.attempted === null && holder.status !== 'FAILED')) return false;
    }
    return true;
  }

  #ask<Q, A>(
    service: ServiceName,
    definition: CallDefinition<Q, A>,
    { data, project, id }: { data: Q; project: string; id?: string },
  ): Promise<A> {
    const { bus, mint } = this.#parts.context;
    const message = mint(definition, { data, project, ...(id !== undefined && { id }) });
    return bus.request({ queue: requestsQueue(service), call: definition, message });
  }
}

const timerOf = ({ server, sign, since, event, reason }: Loss, at: number): Timer =>
  stackTimers.at({ kind: 'lost', lost: { server, sign, since, event, ...(reason !== undefined && { reason }) } }, at);

const signs = ['silence', 'fault'] as const;

const counts = ({ node_faults: faults }: Policy, { sign }: Loss): boolean => sign === 'silence' || faults;

const dueAt = ({ after }: Policy, { since }: Loss): number => Date.parse(since) + after * 1000;

const textOf = ({ server, sign, since, reason }: Loss): string =>
  `${signText({ host_id: server, sign, reason })} since ${since}`;

/** A stack whose check failed is at rest, because a check finds machines that died. */
const isAtRest = ({ action, status, phase, deleted_at: deletedAt }: StackDocument): boolean =>
  deletedAt === null &&
  phase === 'idle' &&
  !['SUSPEND', 'DELETE'].includes(action) &&
  (status === 'COMPLETE' || action === 'CHECK');
