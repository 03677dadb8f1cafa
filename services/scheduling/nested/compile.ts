/** Compiles the plan of a nested stack, through the templating service, once all its inputs are known. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanRolling } from '@anneal/contracts/plan.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { type CompileAnswer, templateCompileNested } from '@anneal/contracts/calls/templating.ts';
import { type ResourceDocument, type StackDocument, type Target } from '@anneal/convergence/documents.ts';
import { groupKind } from '@anneal/hot/groups/kind.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { openProperties, openProperty } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { RowValue } from '@anneal/store/port.ts';
import { parentPath, type SchedulingCollections } from '../collections.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import { targetOf } from '../plans/target.ts';
import { createConfigurations } from './configuration.ts';
import { existingIn } from './existing.ts';
import type { GroupState, StoredNestedRequest } from '../groups/kept.ts';
import { membersOf } from './members.ts';
import { resealMembers } from './reseal.ts';

export interface Compiled {
  readonly target: Target;
  readonly kept: StoredNestedRequest;
}

export interface CompileChild {
  /** The inputs of the compilation. Its `members` are ignored; they are computed from `before`. */
  readonly wanted: StoredNestedRequest;
  readonly before: StoredNestedRequest | undefined;
  readonly stack: { id: string; name: string; project: string; root: string; depth: number };
  /** The resource of the nested stack, and the stack around it. */
  readonly resource: string;
  readonly parentStack: string;
  /** The revision of the target that the plan is compiled for. */
  readonly revision: string;
  readonly existing: readonly ResourceDocument[];
  /** The current plan of the nested stack; undefined when it is new. */
  readonly previousPlan: string | undefined;
  /** The size that a scaling policy requests. */
  readonly size?: number | undefined;
  /** The members that leave, when they were chosen. */
  readonly leaving?: readonly string[];
  /** None of the new members comes from the warm pool. */
  readonly fresh?: boolean;
  /** The group takes over members that exist. */
  readonly adopts?: boolean;
  /** Only in a preview: parameters without a known value, and the launch configuration of an instance group. */
  readonly unknown?: readonly string[];
  readonly configuration?: GroupState['configuration'];
  /** When the nested stack must be complete. */
  readonly deadline: string;
  /** The request or other message that causes the compilation. */
  readonly cause: Envelope;
}

/** The same time as the gateway waits for the compilation of a whole template. */
const compileTimeoutMs = 60_000;

export type ChildCompiler = (parameters: CompileChild) => Promise<Compiled>;

export function createChildCompiler({
  context,
  collections,
  evaluation,
}: {
  context: ServiceContext;
  collections: SchedulingCollections;
  evaluation: Evaluation;
}): ChildCompiler {
  const { bus, mint } = context;
  const configurations = createConfigurations(collections, { evaluation, secrets: context.secrets });

  return async (parameters) => {
    const { wanted, stack, cause, resource, revision } = parameters;
    const group =
      wanted.kind === 'group' ? await groupParts({ context, configurations, evaluation }, parameters) : undefined;
    const answer: CompileAnswer = await bus.request({
      queue: requestsQueue('templating'),
      call: templateCompileNested,
      timeoutMs: compileTimeoutMs,
      message: mint(templateCompileNested, {
        cause,
        project: stack.project,
        data: {
          project: stack.project,
          stack_id: stack.id,
          stack_name: stack.name,
          environment: wanted.environment,
          files: wanted.files,
          resource,
          type: wanted.type,
          kind: wanted.kind,
          ...(group && { template: group.template, ...(group.rolling && { rolling: group.rolling }) }),
          properties: group ? {} : (wanted.properties as JsonObject),
          ...(!group && parameters.previousPlan !== undefined && { previous_plan: parameters.previousPlan }),
          ...(parameters.unknown && parameters.unknown.length > 0 && { unknown: [...parameters.unknown] }),
          facade: wanted.facade,
          depth: Math.max(1, stack.depth),
          resources_outside: group ? await countOutside(collections, stack) : 0,
        },
      }),
    });
    const kept = group ? { ...wanted, members: group.members } : { ...wanted, properties: {}, members: null };
    return { target: targetOf(answer, revision), kept };
  };
}

interface GroupTools {
  readonly context: ServiceContext;
  readonly configurations: ReturnType<typeof createConfigurations>;
  readonly evaluation: Evaluation;
}

/** The template of a group, from the members that it has and those that it needs. */
async function groupParts(
  { context, configurations, evaluation }: GroupTools,
  parameters: CompileChild,
): Promise<{ template: JsonObject; rolling: PlanRolling | undefined; members: GroupState }> {
  const { secrets } = context;
  const { wanted, before, stack, existing, cause, size } = parameters;
  const { type } = wanted;
  const found = membersOf({
    type,
    properties: openProperties(secrets, wanted.properties),
    reads: wanted.reads,
    updatePolicy: secrets.open(wanted.facade.update_policy),
    before: before?.members
      ? { properties: openProperties(secrets, before.properties), state: before.members }
      : undefined,
    existing: existingIn(existing, (resource) => secrets.open(evaluation.referenceTo(resource, stack.project))),
    size,
    ...(parameters.leaving && { leaving: parameters.leaving }),
    ...(parameters.fresh && { fresh: true }),
    ...(parameters.adopts && { adopts: true }),
    configuration:
      groupKind(type) === 'instances'
        ? await configurations.find({
            properties: wanted.properties,
            project: stack.project,
            stack: parameters.parentStack,
            named: parameters.configuration,
          })
        : null,
    reference: stack.name,
    withinSeconds: (Date.parse(parameters.deadline) - context.now().getTime()) / 1000,
    limit: evaluation.sizes.stack,
    newName: (count) => memberName(derivedId(`${cause.id} member\n${count}`)),
  });
  const template = resealMembers({ type, properties: wanted.properties, template: found.template, secrets });
  return { template, rolling: found.rolling, members: cooled(secrets, found.state, parameters) };
}

/** Starts a cooldown, as in Heat, when a scaling group is created and when its own properties change its size. */
function cooled(secrets: Secrets, state: GroupState, { wanted, before, size }: CompileChild): GroupState {
  const kind = groupKind(wanted.type);
  if ((kind !== 'scaling' && kind !== 'instances') || size !== undefined) return state;
  if (before?.members && before.members.names.length === state.names.length) return state;
  const [cooldown, Cooldown] = ['cooldown', 'Cooldown'].map((name) => openProperty(secrets, wanted.properties, name));
  return { ...state, cooldown: { ...state.cooldown, seconds: Number(cooldown ?? Cooldown ?? 0) } };
}

/** A meaningless name of twelve letters and digits. */
const memberName = (id: string): string => {
  const digits = BigInt(`0x${id.replaceAll('-', '')}`).toString(36);
  return `a${digits.slice(-11).padStart(11, '0')}`;
};

/** Counts the resources of the tree outside this stack and its nested stacks. The compiler counts those inside. */
async function countOutside(
  { stacks, resources }: SchedulingCollections,
  { id, root }: { id: string; root: string },
): Promise<number> {
  // Rows, because the documents of a large tree are megabytes.
  const tree = await stacks.rows({ where: { root } }, [parentPath, 'deleted_at']);
  const around = new Map(tree.map((row) => [row.id, row.values[parentPath]]));
  const isInside = (stack: string): boolean => {
    for (let at: RowValue | undefined = stack; typeof at === 'string'; at = around.get(at)) if (at === id) return true;
    return false;
  };
  const outside = tree.flatMap((row) => (row.values['deleted_at'] === null && !isInside(row.id) ? [row.id] : []));
  if (outside.length === 0) return 0;
  return resources.count({ stack_id: { in: outside } });
}

export const treeOf = ({ id, name, project, root, depth }: StackDocument): CompileChild['stack'] => ({
  id,
  name,
  project,
  root,
  depth,
});
