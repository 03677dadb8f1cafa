/**
 * Handles requests for a resource that is a nested stack, at the shard of that stack. They are the same messages that
 * any provider gets.
 *
 * N1 The nested stack has the id of its resource, so that each can be found from the other.
 * N2 The target is compiled before the core gets the request; a refusal is answered, and changes nothing.
 * N3 A deletion of a stack that was never created leaves a mark, so that a late creation creates nothing.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import {
  resourceCancel,
  resourceCheck,
  resourceCreate,
  resourceDelete,
  resourceResume,
  resourceSnapshot,
  resourceSuspend,
  resourceUpdate,
  type NestedRequest,
  type ResourceAction,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { hasMembers } from '@anneal/hot/groups/kind.ts';
import { stackTypeOf } from '@anneal/hot/types/stack-types.ts';
import type { Input } from '@anneal/convergence/protocol.ts';
import { newStack, type ParentLink, type Scaling, type StackDocument } from '@anneal/convergence/documents.ts';
import { emptyPlan, type State } from '@anneal/convergence/state.ts';
import { reply } from '@anneal/provider/accept.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { insertOnce } from '@anneal/store/change.ts';
import { liveName, type SchedulingCollections } from '../collections.ts';
import type { Contents } from '../plans/contents.ts';
import type { Plans } from '../plans/plans.ts';
import { refuseGrowth, type Quotas } from '../plans/quota.ts';
import { treeOf, type ChildCompiler } from './compile.ts';
import { noCooldown } from '../groups/cooldown.ts';
import { boundsOf } from '../groups/size.ts';
import { lostTimers } from '../groups/lost.ts';
import { groupKind } from '@anneal/hot/groups/kind.ts';
import { skippedNumbers } from '@anneal/hot/groups/numbered.ts';
import { poolSize } from '../groups/warm.ts';
import { deadlineOf, minutesOf } from './deadline.ts';
import { carried, fromKept, toKept, type StoredNestedRequest } from '../groups/kept.ts';

const actions: ReadonlyMap<string, Exclude<ResourceAction, 'signal'>> = new Map([
  [resourceCreate.type, 'create'],
  [resourceUpdate.type, 'update'],
  [resourceDelete.type, 'delete'],
  [resourceCheck.type, 'check'],
  [resourceSuspend.type, 'suspend'],
  [resourceResume.type, 'resume'],
  [resourceSnapshot.type, 'snapshot'],
  [resourceCancel.type, 'cancel'],
]);

export const isNestedRequest = ({ type }: Envelope): boolean => actions.has(type);
const visits = { check: 'CHECK', suspend: 'SUSPEND', resume: 'RESUME', snapshot: 'SNAPSHOT' } as const;

interface IntakeOptions {
  readonly context: ServiceContext;
  readonly collections: SchedulingCollections;
  readonly plans: Plans;
  readonly contents: Contents;
  readonly compile: ChildCompiler;
  readonly quotas: Quotas;
}

export class NestedIntake {
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Inserts the document of a new nested stack, or the mark of N3 for a deletion. Answers a refusal itself. */
  async admit(message: Envelope): Promise<void> {
    const data = message.data as ResourceRequest;
    const action = actions.get(message.type);
    if (await this.#options.collections.stacks.get(data.resource.id)) return;
    if (action === 'delete') {
      await this.#insert(message, { target: await this.#emptyTarget(), kept: null, deleted: true });
      return;
    }
    // Accept an update too, because it may succeed after the creation was refused.
    if ((action !== 'create' && action !== 'update') || !data.nested) {
      const text = `The Stack (${data.resource.physical_name}) could not be found.`;
      await this.refuse(message, new AnnealError('NotFound', text));
      return;
    }
    try {
      const refusal = await this.#insertCompiled(message, data.nested);
      if (refusal) await this.refuse(message, refusal);
    } catch (error) {
      if (!isFinal(error)) throw error;
      await this.refuse(message, error);
    }
  }

  /** Compiles the target of a new nested stack and inserts its document. Returns the refusal, if any. */
  async #insertCompiled(message: Envelope, nested: NestedRequest): Promise<AnnealError | undefined> {
    const { compile, contents, context, plans, quotas } = this.#options;
    const data = message.data as ResourceRequest;
    const project = message.project ?? '';
    const wanted = keptOf(data, nested);
    const adopted = adoptedGroup(context.secrets, wanted, adoptedOf(data));
    const { target, kept } = await compile({
      wanted,
      before: adopted,
      adopts: adopted !== undefined,
      stack: {
        id: data.resource.id,
        name: data.resource.physical_name,
        project,
        root: nested.root,
        depth: nested.depth,
      },
      resource: data.resource.name,
      parentStack: data.stack.id,
      revision: nested.revision,
      existing: [],
      previousPlan: undefined,
      deadline: data.deadline,
      cause: message,
    });
    const added = Object.keys((await plans.get(target.plan)).resources).length;
    const own = isRoot(data) ? 1 : 0;
    const bytes = await contents.bytesOf(target, nested.depth);
    const { restores } = nested;
    return quotas.within({ project, stacks: own, resources: added, bytes, restores }, () =>
      this.#insert(message, { target, kept }),
    );
  }

  /**
   * Returns undefined when the message is already answered, or needs no answer.
   * @throws AnnealError final, for a refusal: the caller answers it after the step, because a try may be discarded.
   */
  async toInput(message: Envelope, state: State): Promise<Input | undefined> {
    const { context, plans } = this.#options;
    const data = message.data as ResourceRequest;
    const { id } = message;
    const { stack } = state;
    const parent = linkOf(message, context);
    const action = actions.get(message.type) ?? 'create';
    const occasion = occasionOf(data, action);
    if (stack.deleted_at !== null) {
      // Already deleted: report success to a deletion.
      const isGone = action === 'delete';
      const error = { code: 'NotFound', message: `The Stack (${stack.name}) was deleted.` };
      // A client deleted the nested stack directly, so nothing is left to update.
      const gone = { status: 'failed', error, replace: true } as const;
      await this.#respond(message, responseTo(message, isGone ? { status: 'complete' } : gone));
      return undefined;
    }
    const isNew = stack.traversal === '';
    switch (action) {
      case 'create':
        return { kind: 'create', id, plan: await plans.get(stack.target.plan), parent, occasion };
      case 'update': {
        if (isNew) return { kind: 'create', id, plan: await plans.get(stack.target.plan), parent, occasion };
        const update = await this.#toUpdate(message, state, parent);
        return update && { ...update, occasion };
      }
      case 'delete':
        return { kind: 'delete', id, abandon: data.abandon, parent, occasion };
      case 'cancel':
        return { kind: 'cancel', id, parent, occasion };
      default:
        return { kind: 'visit', id, action: visits[action], parent, occasion };
    }
  }

  async #toUpdate(message: Envelope, state: State, parent: ParentLink): Promise<Input | undefined> {
    const { compile, plans } = this.#options;
    const data = message.data as ResourceRequest;
    const { stack } = state;
    if (!data.nested || parent.fence < (stack.parent?.fence ?? 0)) return undefined;
    const isRepeat = parent.fence === stack.parent?.fence;
    // Do not compile again for a repeat, because it gets the same answer.
    const compiled = isRepeat
      ? { target: stack.target, kept: fromKept(stack.group) }
      : await compile({
          wanted: keptOf(data, data.nested),
          before: carried(stack),
          stack: treeOf(stack),
          resource: data.resource.name,
          parentStack: data.stack.id,
          revision: data.nested.revision,
          existing: [...state.resources.values()],
          previousPlan: stack.target.plan,
          deadline: data.deadline,
          cause: message,
        });
    // A repeat was admitted before.
    const growth = { by: message.id, target: compiled.target, restores: data.nested.restores };
    const refusal = isRepeat ? undefined : await refuseGrowth(this.#options, state, growth);
    if (refusal) throw refusal;
    return {
      kind: 'update',
      id: message.id,
      plan: await plans.get(compiled.target.plan),
      target: compiled.target,
      timeout_minutes: minutesOf(this.#options.context.secrets, data) ?? data.nested?.timeout_minutes ?? null,
      ...(compiled.kept && { group: toKept(compiled.kept) }),
      ...scalingOf(message.id, { before: fromKept(stack.group), after: isRepeat ? undefined : compiled.kept }),
      // The update may be the one that lets the group replace its lost members.
      timers: compiled.kept ? lostTimers(this.#options.context.secrets, compiled.kept) : [],
      parent,
    };
  }

  #respond(message: Envelope, response: ResourceResponse): Promise<void> {
    return reply(this.#options.context, message, { response });
  }

  /** Answers a request that is refused. */
  refuse(message: Envelope, error: AnnealError): Promise<void> {
    return this.#respond(message, responseTo(message, { status: 'failed', error: toFailure(error) }));
  }

  async #insert(
    message: Envelope,
    more: { target: StackDocument['target']; kept: StoredNestedRequest | null; deleted?: true },
  ) {
    const data = message.data as ResourceRequest;
    const { nested, resource } = data;
    const isOwn = isRoot(data);
    const now = this.#options.context.now();
    const project = message.project ?? '';
    const { version: _, ...document } = newStack({
      id: resource.id,
      name: resource.physical_name,
      live_name: more.deleted ? resource.id : liveName(project, resource.physical_name),
      project,
      owner: nested?.owner ?? '',
      created_at: now.toISOString(),
      timeout_minutes: minutesOf(this.#options.context.secrets, data) ?? data.nested?.timeout_minutes ?? null,
      on_failure: 'keep',
      tags: [],
      target: more.target,
      parent: linkOf(message, this.#options.context),
      root: isOwn || !nested ? resource.id : nested.root,
      depth: isOwn || !nested ? 0 : nested.depth,
      group: more.kept && toKept(more.kept),
      adopt: adoptedOf(data),
    });
    await insertOnce(this.#options.collections.stacks, {
      ...document,
      ...(more.deleted && {
        action: 'DELETE',
        status: 'COMPLETE',
        reason: 'Deleted before it was created',
        deleted_at: now.toISOString(),
      }),
    });
  }

  async #emptyTarget(): Promise<StackDocument['target']> {
    const { blobs } = this.#options.context.store;
    const hash = await blobs.put(JSON.stringify(emptyPlan()));
    const nothing = await blobs.put('{}');
    return { revision: '', plan: hash, template: nothing, environment: nothing, files: nothing, description: '' };
  }
}

function responseTo(
  message: Envelope,
  how: Pick<ResourceResponse, 'status'> & Partial<ResourceResponse>,
): ResourceResponse {
  const data = message.data as ResourceRequest;
  const action = actions.get(message.type) ?? 'create';
  return { resource_id: data.resource.id, stack_id: data.stack.id, action, fence: data.fence, ...how };
}

/** The resources of the abandoned nested stack that this stack adopts; null when it adopts none. */
function adoptedOf({ adopt }: ResourceRequest): JsonObject | null {
  const resources = adopt?.['resources'];
  return isObject(resources) ? resources : null;
}

/** The state of an adopted group, whose members keep their names. @throws AnnealError InvalidRequest */
function adoptedGroup(
  secrets: ServiceContext['secrets'],
  wanted: StoredNestedRequest,
  resources: JsonObject | null,
): StoredNestedRequest | undefined {
  if (wanted.kind !== 'group' || !resources) return undefined;
  const names = Object.keys(resources);
  const skipped = groupKind(wanted.type) === 'numbered' ? skippedNumbers(names) : [];
  const properties = openProperties(secrets, wanted.properties);
  // The data does not say which members were in the warm pool, so the pool takes only those beyond the most in service.
  const most = poolSize(properties) > 0 ? boundsOf(properties).most : names.length;
  const split = { names: names.slice(0, most), ...(names.length > most && { warm: names.slice(most) }) };
  return { ...wanted, members: { ...split, skipped, cooldown: noCooldown, configuration: null } };
}

const isFinal = (error: unknown): error is AnnealError => error instanceof AnnealError && error.kind === 'final';

function linkOf(message: Envelope, { secrets, now }: Pick<ServiceContext, 'secrets' | 'now'>): ParentLink {
  const { resource, stack, fence, nested, origin } = message.data as ResourceRequest;
  return {
    stack_id: stack.id,
    resource_id: resource.id,
    resource_name: resource.name,
    action: actions.get(message.type) ?? 'create',
    fence,
    deadline: deadlineOf({ secrets, now: now() }, message.data as ResourceRequest),
    ...(nested?.restores && { restores: true }),
    ...(origin && { place: { root: origin.root, path: origin.path, tags: origin.tags } }),
  };
}

/** The actor and the cause of an action of a nested stack: those of its parent stack. */
function occasionOf({ origin, operator, stack }: ResourceRequest, action: ResourceAction): Occasion | undefined {
  if (!origin) return undefined;
  const { actor, cause } = origin;
  const rights = operator !== undefined && { operator };
  if (cause.kind !== 'request' || action !== 'update') return { actor, cause, ...rights };
  return { actor, cause: { kind: 'update', id: cause.id, reason: `update of stack ${stack.name}` }, ...rights };
}

/** The change of members that the properties of a group ask for; the events of the update report it. */
function scalingOf(
  id: string,
  { before, after }: { before: StoredNestedRequest | undefined; after: StoredNestedRequest | undefined },
): { scaling?: Scaling } {
  if (!before?.members || !after?.members || !hasMembers(after.type)) return {};
  const [old, names] = [before.members.names, after.members.names];
  const entering = names.filter((name) => !old.includes(name));
  const leaving = old.filter((name) => !names.includes(name));
  if (entering.length + leaving.length === 0) return {};
  const sizes = { before: old.length, after: names.length };
  return { scaling: { id, reason: 'update', policy: null, message: null, ...sizes, entering, leaving } };
}

function keptOf({ resource, properties }: ResourceRequest, nested: NestedRequest): StoredNestedRequest {
  const { kind, reads, environment, files, facade, shows_servers: shows, replace_lost: lost } = nested;
  const kept = {
    kind,
    type: resource.type,
    reads,
    environment,
    files,
    facade,
    properties: lost ? { ...properties, replace_lost: lost } : properties,
    members: null,
  };
  return shows ? { ...kept, shows_servers: true } : kept;
}

/** Whether the stack is the root of its own tree: the stack list shows it, and the tree around ends at it. */
const isRoot = ({ nested, resource }: ResourceRequest): boolean =>
  nested?.kind === 'stack' && stackTypeOf(resource.type)?.root === true;
