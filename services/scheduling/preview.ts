/** What an update would do, across nested stacks. Nothing is changed: what is compiled on the way is content, and nothing more. */
import { createHash } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { PlannedChange, stackPreview } from '@anneal/contracts/scheduling.ts';
import { previewStack, type PreviewRow, type PreviewTools } from '@anneal/convergence/preview.ts';
import { newStack, type ResourceDocument, type StackDocument, type Target } from '@anneal/convergence/state.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { z } from 'zod';
import type { Collections } from './collections.ts';
import type { Evaluation } from './evaluation.ts';
import type { ChildCompiler } from './nested/compile.ts';
import { fromKept, type Kept } from './nested/kept.ts';
import type { Plans } from './plans.ts';
import { targetOf } from './target.ts';

type Question = z.infer<typeof stackPreview.data>;
type Answer = z.infer<typeof stackPreview.answer>;

/** A stack as it is, and what it is to become. Whoever applies the one to another of the first is refused. */
export function planHash(stack: Pick<StackDocument, 'id' | 'version'> | undefined, target: Target): string {
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
  /** Before the names of its resources. */
  readonly prefix: string;
  /** Of the resource that it stands for. */
  readonly step: number | undefined;
}

/** Deeper than stacks nest. */
const deepest = 6;

export function createPreview(parts: {
  context: ServiceContext;
  collections: Collections;
  plans: Plans;
  evaluation: Evaluation;
  compile: ChildCompiler;
  find: (which: { project: string; stack: string }) => Promise<StackDocument>;
}): (question: Question) => Promise<Answer> {
  const { context, collections, plans, evaluation, compile, find } = parts;
  const { stacks, resources } = collections;
  const mask = (row: PlannedChange): PlannedChange => ({
    ...row,
    properties: row.properties.map((property) => context.secrets.mask(property as never) as typeof property),
  });

  const toolsOf = ({ plan, stack }: At): PreviewTools => evaluation.previewTools({ plan, stack });

  const visit = async (at: At): Promise<PlannedChange[]> => {
    const rows = previewStack({ plan: at.plan, resources: at.resources, tools: toolsOf(at) });
    const found: PlannedChange[] = [];
    for (const row of rows) {
      const { name, type, change, properties } = row;
      const step = at.step ?? row.step;
      const resource = `${at.prefix}${name}`;
      found.push({ resource, type, change, properties, step });
      for (const inner of await below(at, row)) found.push({ ...inner, step });
    }
    return found;
  };

  const below = async (at: At, row: PreviewRow): Promise<PlannedChange[]> => {
    const { existing, planned, change } = row;
    const prefix = `${at.prefix}${row.name}.resources.`;
    if (prefix.split('.resources.').length > deepest) return [];
    const child = existing && existing.source !== null ? await stacks.get(existing.id) : undefined;
    const held = child ? await resources.find({ where: { stack_id: child.id } }) : [];
    if (change === 'delete' || change === 'unchanged') {
      return held.map(({ name, type }) => ({
        resource: `${prefix}${name}`,
        type,
        change,
        properties: [],
        step: row.step,
      }));
    }
    if (!planned?.nested || !row.complete) return [];
    const isKept = child && change !== 'replace' && change !== 'create';
    const compiled = await compileChild(at, planned, row.properties_known, isKept ? { child, held } : undefined);
    if (!compiled) return [];
    return visit({
      stack: compiled.stack,
      plan: await plans.get(compiled.target.plan),
      target: compiled.target,
      resources: isKept ? held : [],
      prefix,
      step: row.step,
    });
  };

  const compileChild = async (
    at: At,
    planned: PlanResource,
    properties: JsonObject,
    existing: { child: StackDocument; held: readonly ResourceDocument[] } | undefined,
  ): Promise<{ stack: StackDocument; target: Target } | undefined> => {
    if (!planned.nested) return undefined;
    const { stack, plan, target } = at;
    const wanted: Kept = {
      kind: planned.nested.kind,
      type: planned.type,
      reads: planned.nested.reads,
      environment: target.environment,
      files: target.files,
      facade: {
        metadata: evaluation.written(planned.metadata, { plan, stack }),
        deletion_policy: planned.deletion_policy ?? 'Delete',
        update_policy: evaluation.written(planned.update_policy, { plan, stack }),
      },
      properties,
      members: null,
    };
    const id = existing?.child.id ?? `${stack.id}-${planned.name}`;
    const name = existing?.child.name ?? `${stack.name}-${planned.name}`;
    const { project, root, depth } = stack;
    try {
      const compiled = await compile({
        wanted,
        before: fromKept(existing?.child.group ?? null),
        stack: { id, name, project, root, depth: depth + 1 },
        resource: planned.name,
        parentStack: stack.id,
        existing: existing?.held ?? [],
        deadline: new Date(context.now().getTime() + (stack.timeout_minutes ?? 60) * 60_000).toISOString(),
        cause: causeOf(context, id),
      });
      const made = newStackLike(stack, { id, name, target: compiled.target });
      return { stack: existing?.child ?? made, target: compiled.target };
    } catch (error) {
      // What it would be refused for, the update itself says; the rest of the plan is worth seeing.
      if (error instanceof AnnealError && error.kind === 'final') return undefined;
      throw error;
    }
  };

  return async (question) => {
    const target = targetOf(question);
    const { project } = question;
    const existing = question.id === undefined ? undefined : await find({ project, stack: question.id });
    const stack = existing ?? newStackLike(undefined, { id: '', name: 'preview', target, project });
    const [plan, held] = await Promise.all([
      plans.get(target.plan),
      existing ? resources.find({ where: { stack_id: existing.id } }) : [],
    ]);
    const changes = await visit({ stack, plan, target, resources: held, prefix: '', step: undefined });
    return { hash: planHash(existing, target), changes: changes.map(mask) };
  };
}

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
