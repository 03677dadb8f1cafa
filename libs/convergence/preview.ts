/**
 * What an update would do to the resources of one stack, without doing anything: the table of `update-node.ts`, with what
 * cannot be known before something else is made or changed left open.
 *
 * | what is known                                                  | what is said  |
 * | -------------------------------------------------------------- | ------------- |
 * | nothing stands for it                                          | create        |
 * | another type; a property differs that takes a new one; broken  | replace       |
 * | a property differs, or what a nested stack is made of          | update        |
 * | besides, one that takes a new one is not known yet             | maybe replace |
 * | nothing differs, and some property is not known yet            | maybe update  |
 * | nothing differs                                                | unchanged     |
 * | the plan has it no more                                        | delete        |
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { PlannedChange } from '@anneal/contracts/scheduling.ts';
import type { Comparison } from './protocol.ts';
import { isNested, representative, type ResourceDocument } from './state.ts';

export interface PreviewTools {
  /** What is known of its properties; the others by name. `peer`: what a resource that it reads is known to show. */
  readonly resolve: (
    resource: PlanResource,
    peer: (name: string) => { readonly resource: ResourceDocument; readonly attributes: boolean } | undefined,
  ) => { readonly properties: JsonObject; readonly unknown: readonly string[] };
  readonly compare: (parameters: {
    type: string;
    isTemplate: boolean;
    before: JsonObject;
    after: JsonObject;
  }) => Comparison;
  /** Whether a change of this property alone takes a new resource. */
  readonly replaces: (resource: PlanResource, property: string) => boolean;
  readonly replaceFailed: (type: string) => boolean;
}

export interface PreviewRow extends Omit<PlannedChange, 'resource'> {
  readonly name: string;
  /** Of a nested stack that is made or changed: from what, as far as it is known. */
  readonly planned?: PlanResource;
  readonly properties_known: JsonObject;
  readonly complete: boolean;
  readonly existing?: ResourceDocument;
}

type Change = PlannedChange['change'];

export function previewStack({
  plan,
  resources,
  tools,
}: {
  plan: Plan;
  resources: readonly ResourceDocument[];
  tools: PreviewTools;
}): PreviewRow[] {
  const existing = standing(resources);
  const changes = new Map<string, Change>();
  const levels = levelsOf(plan);
  const rows = [...levels]
    .sort(([, a], [, b]) => a - b)
    .flatMap(([name, step]): PreviewRow[] => {
      const planned = plan.resources[name];
      if (!planned) return [];
      const row = previewOne({ planned, existing: existing.get(name), changes, standing: existing, step, tools });
      changes.set(name, row.change);
      return [row];
    });
  const last = Math.max(0, ...levels.values());
  return [...rows, ...deletions(existing, plan, last)];
}

function standing(resources: readonly ResourceDocument[]): Map<string, ResourceDocument> {
  const byName = new Map<string, ResourceDocument[]>();
  for (const resource of resources) byName.set(resource.name, [...(byName.get(resource.name) ?? []), resource]);
  const found = Array.from(byName, ([name, candidates]) => [name, representative(candidates)] as const);
  return new Map(
    found.flatMap(([name, resource]) => (resource && resource.action !== 'DELETE' ? [[name, resource]] : [])),
  );
}

function previewOne({
  planned,
  existing,
  changes,
  standing: all,
  step,
  tools,
}: {
  planned: PlanResource;
  existing: ResourceDocument | undefined;
  changes: ReadonlyMap<string, Change>;
  standing: ReadonlyMap<string, ResourceDocument>;
  step: number;
  tools: PreviewTools;
}): PreviewRow {
  const { name, type } = planned;
  const { properties: after, unknown } = tools.resolve(planned, (peer) => {
    const resource = all.get(peer);
    const change = changes.get(peer);
    if (!resource || change === 'create' || change === 'replace' || change === 'maybe replace') return undefined;
    return { resource, attributes: change === 'unchanged' };
  });
  const common = {
    name,
    type,
    step,
    properties_known: after,
    complete: unknown.length === 0,
    ...(planned.nested && { planned }),
    ...(existing && { existing }),
  };
  const before = existing && existing.action !== 'INIT' ? existing.properties : undefined;
  const told = (names: readonly string[], replaces: boolean): PlannedChange['properties'] =>
    names.map((property) => ({
      property,
      ...(before && Object.hasOwn(before, property) && { before: before[property] as Json }),
      ...(Object.hasOwn(after, property) && { after: after[property] as Json }),
      known: !unknown.includes(property),
      replaces: replaces && tools.replaces(planned, property),
    }));
  if (!existing || !before) {
    return { ...common, change: 'create', properties: told([...Object.keys(after), ...unknown], false) };
  }
  const known = Object.fromEntries(Object.entries(before).filter(([property]) => !unknown.includes(property)));
  const isTemplate = planned.nested?.kind === 'template';
  const comparison = tools.compare({ type, isTemplate, before: known, after });
  const changed = comparison.verdict === 'same' ? [] : comparison.changed;
  const properties = told([...changed, ...unknown], true);
  return { ...common, change: verdictOf({ planned, existing, comparison, unknown, tools }), properties };
}

function verdictOf({
  planned,
  existing,
  comparison,
  unknown,
  tools,
}: {
  planned: PlanResource;
  existing: ResourceDocument;
  comparison: Comparison;
  unknown: readonly string[];
  tools: PreviewTools;
}): Change {
  const nested = isNested(existing);
  const broken = existing.status === 'FAILED' && existing.action !== 'SNAPSHOT';
  const anew = broken && !nested && (existing.action !== 'UPDATE' || tools.replaceFailed(existing.type));
  const turns = existing.type !== planned.type || nested !== (planned.nested !== undefined);
  if (turns || anew || existing.must_replace || comparison.verdict === 'replace') return 'replace';
  if (unknown.some((property) => tools.replaces(planned, property))) return 'maybe replace';
  const isOther = nested && existing.source !== (planned.nested?.digest ?? null);
  if (comparison.verdict === 'update' || isOther || broken) return 'update';
  return unknown.length > 0 ? 'maybe update' : 'unchanged';
}

/** In the reverse of the order in which they were made, after all that is left has moved away from them. */
function deletions(existing: ReadonlyMap<string, ResourceDocument>, plan: Plan, last: number): PreviewRow[] {
  const doomed = [...existing.values()].filter(({ name }) => !Object.hasOwn(plan.resources, name));
  const byId = new Map(doomed.map((resource) => [resource.id, resource]));
  const depth = new Map<string, number>();
  const depthOf = (resource: ResourceDocument): number => {
    const found = depth.get(resource.id);
    if (found !== undefined) return found;
    depth.set(resource.id, 0);
    const below = resource.requires.flatMap((id) => byId.get(id) ?? []).map(depthOf);
    const own = below.length === 0 ? 0 : Math.max(...below) + 1;
    depth.set(resource.id, own);
    return own;
  };
  const deepest = Math.max(0, ...doomed.map(depthOf));
  return doomed
    .map((resource): PreviewRow => {
      const step = last + 1 + deepest - depthOf(resource);
      const { name, type } = resource;
      return {
        name,
        type,
        change: 'delete',
        properties: [],
        step,
        properties_known: {},
        complete: true,
        existing: resource,
      };
    })
    .sort((a, b) => a.step - b.step);
}

/** One more than the highest of what it requires. Without recursion: chains may be long. */
function levelsOf(plan: Plan): Map<string, number> {
  const waits = new Map<string, number>();
  const frees = new Map<string, string[]>();
  for (const { name, requires } of Object.values(plan.resources)) {
    const known = requires.filter((required) => required !== name && Object.hasOwn(plan.resources, required));
    waits.set(name, known.length);
    for (const required of known) frees.set(required, [...(frees.get(required) ?? []), name]);
  }
  const levels = new Map<string, number>();
  let ready = [...waits].filter(([, left]) => left === 0).map(([name]) => name);
  for (let step = 1; ready.length > 0; step += 1) {
    const next: string[] = [];
    for (const name of ready) {
      levels.set(name, step);
      for (const freed of frees.get(name) ?? []) {
        const left = (waits.get(freed) ?? 0) - 1;
        waits.set(freed, left);
        if (left === 0) next.push(freed);
      }
    }
    ready = next;
  }
  return levels;
}
