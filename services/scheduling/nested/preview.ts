/** Shows what an update would do, across nested stacks. Changes no stack: compiling only stores contents. */
import { createHash } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { mapInSlices, Pace } from '@anneal/contracts/slices/pace.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { PlannedChange, stackPreview } from '@anneal/contracts/calls/previews.ts';
import { inOrder, type PlannedTree } from '@anneal/convergence/preview/order.ts';
import { previewStack, unchangedStack, type Judgement, type PreviewRow } from '@anneal/convergence/preview/preview.ts';
import {
  isNested,
  newStack,
  type ResourceDocument,
  type StackDocument,
  type Target,
} from '@anneal/convergence/documents.ts';
import { emptyPlan } from '@anneal/convergence/state.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import type { KnownSources, SourceReader } from '../plans/sources.ts';
import type { ChildCompiler } from './compile.ts';
import { predictionOf, launchConfiguration, type NestedPrediction } from './foresee.ts';
import { fromKept, type StoredNestedRequest } from '../groups/kept.ts';
import type { Plans } from '../plans/plans.ts';
import { targetOf } from '../plans/target.ts';
import { requirersOf, shownParameters } from '../views.ts';

type Question = z.infer<typeof stackPreview.data>;
type Answer = z.infer<typeof stackPreview.answer>;

/** Identifies a plan: the current version of a stack, and its target. An update is refused when either differs. */
export function planHash(
  stack: Pick<StackDocument, 'id' | 'version'> | undefined,
  target: Omit<Target, 'revision' | 'description'>,
): string {
  const { plan, template, environment, files } = target;
  const base = stack ? [stack.id, stack.version] : [];
  return createHash('sha256')
    .update(JSON.stringify([base, plan, template, environment, files]))
    .digest('hex');
}

interface At {
  readonly stack: StackDocument;
  readonly plan: Plan;
  readonly target: Target;
  readonly resources: readonly ResourceDocument[];
  /** Printed before the names of its resources. */
  readonly prefix: string;
  /** The change of the resource of this nested stack, when that resource is replaced. */
  readonly around?: PlannedChange['change'];
}

/** The changes nested in a resource, and the reason that they give for the change of the resource. */
interface Below {
  readonly inner: readonly PlannedTree[];
  readonly because?: string;
}

/** More levels than stacks may have. */
const deepest = 6;

interface PreviewOptions {
  readonly context: ServiceContext;
  readonly collections: SchedulingCollections;
  readonly plans: Plans;
  readonly evaluation: Evaluation;
  readonly compile: ChildCompiler;
  readonly sourceReader: SourceReader;
  readonly find: (which: { project: string; stack: string }) => Promise<StackDocument>;
}

export class StackPreview {
  readonly #options: PreviewOptions;
  readonly #collections: SchedulingCollections;

  constructor(options: PreviewOptions) {
    this.#options = options;
    this.#collections = options.collections;
  }

  async of(question: Question): Promise<Answer> {
    const target = targetOf(question, 'preview');
    const { project } = question;
    const existing = question.id === undefined ? undefined : await this.#options.find({ project, stack: question.id });
    const stack = existing ?? newStackLike(undefined, { id: '', name: 'preview', target, project });
    const [plan, held] = await Promise.all([
      this.#options.plans.get(target.plan),
      existing ? this.#collections.resources.find({ where: { stack_id: existing.id } }) : [],
    ]);
    const trees = await this.#visit({ stack, plan, target, resources: held, prefix: '' });
    return {
      hash: planHash(existing, target),
      changes: await mapInSlices(inOrder(trees), (row) => masked(this.#options.context.secrets, row)),
      parameters: shownParameters(plan, (value) => this.#options.context.secrets.mask(value)),
    };
  }

  async #visit(at: At): Promise<PlannedTree[]> {
    const { stack, plan, around } = at;
    const sources: KnownSources = new Map();
    const known = new Set([plan.sources, ...at.resources.map((resource) => resource.sources)]);
    await this.#options.sourceReader.readInto(
      sources,
      [...known].filter((hash) => hash !== undefined),
    );
    const tools = this.#options.evaluation.previewTools({ plan, stack, sources });
    const byName = new Map<string, PreviewRow>();
    const pace = new Pace();
    for (const row of previewStack({ plan, resources: at.resources, tools, ...(around && { around }) })) {
      if (row) byName.set(row.name, row);
      if (pace.isOver) await pace.turn();
    }
    const requirers = requirersOf(plan);
    const trees = await treesOf([...byName.values()], at.prefix, (row, prefix) =>
      this.#below({ ...at, prefix }, row, byName),
    );
    return trees.map((tree) => {
      const required_by = tree.row.change === 'create' ? requirers.get(tree.name) : undefined;
      return required_by ? { ...tree, row: { ...tree.row, required_by: [...required_by] } } : tree;
    });
  }

  /** The rows of a nested stack that stays unchanged, or whose change cannot be predicted. */
  async #asItIs(id: string, prefix: string, judgement?: Judgement): Promise<PlannedTree[]> {
    if (prefix.split('.resources.').length > deepest) return [];
    const held = await this.#collections.resources.find({ where: { stack_id: id } });
    return treesOf(unchangedStack(held, judgement), prefix, async ({ existing }, inner) => ({
      inner: existing && isNested(existing) ? await this.#asItIs(existing.id, inner, judgement) : [],
    }));
  }

  async #below(at: At, row: PreviewRow, beside: ReadonlyMap<string, PreviewRow>): Promise<Below> {
    const { existing, planned, change } = row;
    const { prefix } = at;
    if (prefix.split('.resources.').length > deepest) return { inner: [] };
    const child = existing && isNested(existing) ? await this.#collections.stacks.get(existing.id) : undefined;
    if (child && change === 'unchanged') return { inner: await this.#asItIs(child.id, prefix) };
    const held = child ? await this.#collections.resources.find({ where: { stack_id: child.id } }) : [];
    // A nested stack is deleted with its contents, also when a resource without any takes its place.
    if (child && (change === 'delete' || (change === 'replace' && !planned?.nested))) {
      const nothing = { stack: child, plan: emptyPlan(), target: child.target, resources: held, prefix };
      return { inner: await this.#visit(nothing) };
    }
    if (!planned?.nested) return { inner: [] };
    const predicted = predictionOf(row);
    if (!predicted) {
      const because = 'its contents are known after apply';
      const inner = child ? await this.#asItIs(child.id, prefix, { change: 'maybe update', because }) : [];
      return { inner, because };
    }
    const isReplaced = change === 'replace' || change === 'maybe replace';
    try {
      const before = child && change !== 'replace' ? { child, held } : undefined;
      const compiled = await this.#compileChild(at, { planned, predicted, before, beside });
      const inner = await this.#visit({
        stack: compiled.stack,
        plan: await this.#options.plans.get(compiled.target.plan),
        target: compiled.target,
        resources: held,
        prefix,
        ...(isReplaced && { around: change }),
      });
      return { inner };
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind !== 'final') throw error;
      // Show the rest of the plan in spite of the refusal.
      return {
        inner: child ? await this.#asItIs(child.id, prefix) : [],
        because: `it would be refused: ${error.message}`,
      };
    }
  }

  async #compileChild(
    { stack, plan, target }: At,
    about: {
      planned: PlanResource;
      predicted: NestedPrediction;
      before: { child: StackDocument; held: readonly ResourceDocument[] } | undefined;
      beside: ReadonlyMap<string, PreviewRow>;
    },
  ): Promise<{ stack: StackDocument; target: Target }> {
    const { compile, context, evaluation } = this.#options;
    const { planned, predicted, before, beside } = about;
    const nested = planned.nested as NonNullable<PlanResource['nested']>;
    const wanted: StoredNestedRequest = {
      kind: nested.kind,
      type: planned.type,
      reads: nested.reads,
      environment: target.environment,
      files: target.files,
      facade: {
        metadata: evaluation.written(planned.metadata, { plan, stack }),
        deletion_policy: planned.deletion_policy ?? 'Delete',
        update_policy: evaluation.written(planned.update_policy, { plan, stack }),
      },
      properties: predicted.properties,
      members: null,
    };
    const id = before?.child.id ?? `${stack.id}-${planned.name}`;
    const name = before?.child.name ?? `${stack.name}-${planned.name}`;
    const { project, root, depth } = stack;
    const launch = launchConfiguration(planned, beside);
    const compiled = await compile({
      wanted,
      before: fromKept(before?.child.group ?? null),
      stack: { id, name, project, root, depth: depth + 1 },
      resource: planned.name,
      parentStack: stack.id,
      revision: target.revision,
      existing: before?.held ?? [],
      previousPlan: before?.child.target.plan,
      unknown: predicted.unknown,
      ...(launch && {
        configuration: {
          properties: launch.predicted.open,
          metadata: asMap(evaluation.written(launch.planned?.metadata, { plan, stack })),
        },
      }),
      deadline: new Date(context.now().getTime() + (stack.timeout_minutes ?? 60) * 60_000).toISOString(),
      cause: causeOf(context, id),
    });
    const made = newStackLike(stack, { id, name, target: compiled.target });
    return { stack: before?.child ?? made, target: compiled.target };
  }
}

const masked = (secrets: ServiceContext['secrets'], row: PlannedChange): PlannedChange => ({
  ...row,
  properties: row.properties.map((property) => secrets.mask(property as never) as typeof property),
});

async function treesOf(
  rows: readonly PreviewRow[],
  prefix: string,
  below: (row: PreviewRow, prefix: string) => Promise<Below>,
): Promise<PlannedTree[]> {
  const trees: PlannedTree[] = [];
  const pace = new Pace();
  for (const row of rows) {
    if (pace.isOver) await pace.turn();
    const { name, type, change, properties, after } = row;
    const resource = `${prefix}${name}`;
    const { inner, because = row.because } = await below(row, `${resource}.resources.`);
    const extra = { ...(row.order && { order: row.order }), ...(because !== undefined && { because }) };
    trees.push({ row: { resource, type, change, properties, ...extra }, name, after, inner });
  }
  return trees;
}

const asMap = (value: Json): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

function newStackLike(
  around: StackDocument | undefined,
  more: { id: string; name: string; target: Target; project?: string },
): StackDocument {
  return newStack({
    id: more.id,
    name: more.name,
    live_name: more.id,
    project: around?.project ?? more.project ?? '',
    owner: around?.owner ?? '',
    created_at: around?.created_at ?? new Date(0).toISOString(),
    timeout_minutes: null,
    on_failure: 'keep',
    tags: [],
    target: more.target,
    ...(around && { root: around.root, depth: around.depth + 1 }),
  });
}

const causeOf = ({ now }: ServiceContext, id: string) =>
  ({
    specversion: '1.0',
    id: `preview ${id}`,
    type: 'preview',
    source: 'anneal/scheduling',
    time: now().toISOString(),
    correlationid: id,
    data: null,
  }) as const;
