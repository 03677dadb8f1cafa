/**
 * Preview of an update of one stack: the table of `update-node.ts`, without any requests. Values that depend on other
 * changes stay open.
 *
 * | known facts                                                    | change        |
 * | -------------------------------------------------------------- | ------------- |
 * | no incarnation exists                                          | create        |
 * | another type; broken; a changed property needs replacement     | replace       |
 * | a property differs, or the sources of a nested stack           | update        |
 * | a property that needs replacement is not known yet             | maybe replace |
 * | nothing differs, and some property is not known yet            | maybe update  |
 * | nothing differs; every update renews the resource              | replace       |
 * | ... every update renews something in the nested stack          | update        |
 * | nothing differs                                                | unchanged     |
 * | the plan does not have the resource any more                   | delete        |
 * | its condition is not known yet; no incarnation exists          | maybe create  |
 * | ... an incarnation exists                                      | maybe delete  |
 * When the stack itself is replaced, the resources that would stay are replaced with it.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { PlannedChange } from '@anneal/contracts/calls/previews.ts';
import { conditionOf } from '../resources/health.ts';
import type { Comparison, Tools } from '../protocol.ts';
import { canBecome, hasOtherSources, isRenewed } from '../resources/pick-incarnation.ts';
import { representative, type ResourceDocument, shownType } from '../documents.ts';

/** Properties that a resource would have, as far as they can be predicted. */
export interface Prediction {
  readonly properties: JsonObject;
  /** Names of properties that are not fully known yet; `properties` does not have them. */
  readonly unknown: readonly string[];
  /** All properties, with unknown parts written as the open parameter of the language. */
  readonly open: JsonObject;
}

/** Functions that the shell provides to a preview. They read nothing and change nothing. */
export interface PreviewTools {
  /** Predicts the properties of a resource. `peer` returns the known state of a resource that it reads. */
  readonly resolve: (
    resource: PlanResource,
    peer: (name: string) => { readonly resource: ResourceDocument; readonly attributes: boolean } | undefined,
  ) => Prediction;
  readonly compare: (parameters: {
    type: string;
    isTemplate: boolean;
    before: JsonObject;
    after: JsonObject;
  }) => Comparison;
  /** Whether a change of this property alone needs a replacement. */
  readonly replaces: (resource: PlanResource, property: string) => boolean;
  readonly replaceFailed: (type: string) => boolean;
  readonly sourcesDiffer?: NonNullable<Tools['sourcesDiffer']>;
}

/** The predicted change of one resource. */
export interface PreviewRow extends Omit<PlannedChange, 'resource' | 'step'> {
  readonly name: string;
  /** Names of the resources whose rows come before it. */
  readonly after: readonly string[];
  /** Undefined when the plan does not have the resource any more. */
  readonly planned: PlanResource | undefined;
  readonly predicted: Prediction;
  readonly existing: ResourceDocument | undefined;
}

type Change = PlannedChange['change'];
/** The kind of a change, its place in the work and its causes. */
export type Judgement = Pick<PlannedChange, 'change' | 'order' | 'because'>;

const nothing: Prediction = { properties: {}, unknown: [], open: {} };

interface Preview {
  readonly plan: Plan;
  readonly resources: readonly ResourceDocument[];
  readonly tools: PreviewTools;
  /** The change of this nested stack's resource in the parent stack, when that is a replacement. */
  readonly around?: Change;
}

/**
 * Yields the rows one by one, because a caller may let other work run in between. Undefined is a pause without a row.
 */
export function* previewStack({ plan, resources, tools, around }: Preview): Generator<PreviewRow | undefined> {
  const existing = existingByName(resources);
  yield undefined;
  const changes = new Map<string, Change>();
  const all = new Map(Object.entries(plan.resources));
  const order = inOrderOf(all, (name) => all.get(name)?.requires ?? []);
  yield undefined;
  for (const planned of order) {
    const row = previewOne({
      planned,
      existing: existing.get(planned.name),
      changes,
      existingByName: existing,
      plan,
      tools,
      around,
    });
    changes.set(planned.name, row.change);
    yield row;
  }
  yield* deletions(existing, plan);
}

/** One row per resource, all with the same judgement: by default unchanged. */
export function unchangedStack(
  resources: readonly ResourceDocument[],
  judgement: Judgement = { change: 'unchanged' },
): PreviewRow[] {
  return Array.from(existingByName(resources).values(), (resource) => ({
    name: resource.name,
    type: shownType(resource),
    properties: [],
    after: [],
    planned: undefined,
    predicted: nothing,
    existing: resource,
    ...judgement,
  }));
}

function existingByName(resources: readonly ResourceDocument[]): Map<string, ResourceDocument> {
  const byName = new Map<string, ResourceDocument[]>();
  for (const resource of resources) {
    const list = byName.get(resource.name);
    if (list) list.push(resource);
    else byName.set(resource.name, [resource]);
  }
  const found = Array.from(byName, ([name, candidates]) => [name, representative(candidates)] as const);
  return new Map(
    found.flatMap(([name, resource]) => (resource && resource.action !== 'DELETE' ? [[name, resource]] : [])),
  );
}

interface One {
  readonly planned: PlanResource;
  readonly existing: ResourceDocument | undefined;
  readonly changes: ReadonlyMap<string, Change>;
  readonly existingByName: ReadonlyMap<string, ResourceDocument>;
  readonly plan: Plan;
  readonly tools: PreviewTools;
  readonly around: Change | undefined;
}

/** Whether the change makes a new object: its reference is not known yet. */
const isOther = (change: Change | undefined): boolean =>
  change === 'create' || change === 'replace' || change === 'maybe replace' || change === 'maybe create';

function previewOne({ planned, existing, changes, existingByName: all, plan, tools, around }: One): PreviewRow {
  const { name, type, requires } = planned;
  const predicted = tools.resolve(planned, (peer) => {
    const resource = all.get(peer);
    const change = changes.get(peer);
    if (!resource || isOther(change)) return undefined;
    return { resource, attributes: change === 'unchanged' };
  });
  const { properties: after, unknown } = predicted;
  const common = { name, type: shownType(planned), after: requires, planned, predicted, existing };
  const before = existing && existing.action !== 'INIT' ? existing.properties : undefined;
  const propertyRows = (names: readonly string[], replaces: boolean): PlannedChange['properties'] =>
    names.map((property) => ({
      property,
      ...(before && Object.hasOwn(before, property) && { before: before[property] as Json }),
      ...(Object.hasOwn(after, property) && { after: after[property] as Json }),
      known: !unknown.includes(property),
      replaces: replaces && tools.replaces(planned, property),
    }));
  if (!existing || !before) {
    const change = planned.undecided ? 'maybe create' : 'create';
    return { ...common, change, properties: propertyRows([...Object.keys(after), ...unknown], false) };
  }
  if (planned.external_id) {
    return { ...common, change: 'unchanged', because: 'it belongs to someone else', properties: [] };
  }
  const known = toRecord(Object.entries(before).filter(([property]) => !unknown.includes(property)));
  const isTemplate = planned.nested?.kind === 'template';
  const comparison = tools.compare({ type, isTemplate, before: known, after });
  const changed = comparison.verdict === 'same' ? [] : comparison.changed;
  const judgement = within(around, judge({ planned, existing, comparison, unknown, plan, tools }));
  return { ...common, properties: propertyRows([...changed, ...unknown], true), ...finish(judgement, planned) };
}

function judge({
  planned,
  existing,
  comparison,
  unknown,
  plan,
  tools,
}: {
  planned: PlanResource;
  existing: ResourceDocument;
  comparison: Comparison;
  unknown: readonly string[];
  plan: Plan;
  tools: PreviewTools;
}): Judgement {
  const { type, nested } = planned;
  if (!canBecome(existing, planned)) {
    const wasOther = existing.type !== type;
    const because = wasOther ? `it was of the type ${shownType(existing)}` : `${type} is now mapped to another type`;
    return { change: 'replace', because };
  }
  const { broken, replaced } = conditionOf(existing, comparison, tools);
  const state = `${existing.action}_${existing.status}`;
  const because = broken ? { because: `it is ${existing.status === 'FAILED' ? state : 'not whole'}` } : {};
  if (replaced) return { change: 'replace', ...because };
  if (planned.undecided) return { change: 'maybe delete', because: 'its condition is known after it is applied' };
  if (planned.renewed && !nested) return { change: 'replace', because: 'every update renews it' };
  if (unknown.some((property) => tools.replaces(planned, property))) return { change: 'maybe replace', ...because };
  if (comparison.verdict === 'update' || broken) return { change: 'update', ...because };
  if (nested && hasOtherSources({ state: { plan }, tools }, existing, planned)) {
    const inside = { because: 'what it is made of differs' };
    return { change: unknown.length > 0 ? 'maybe update' : 'update', ...inside };
  }
  if (isRenewed(existing, planned)) return { change: 'update', because: 'every update renews something in it' };
  return { change: unknown.length > 0 ? 'maybe update' : 'unchanged' };
}

function within(around: Change | undefined, judgement: Judgement): Judgement {
  const isReplaced = around === 'replace' || around === 'maybe replace';
  if (!isReplaced || judgement.change === 'replace') return judgement;
  return { change: around, because: 'the stack that it is in is replaced' };
}

/** Adds the order of a replacement, and the restriction that would fail the change. */
function finish(judgement: Judgement, { replacement, restricted_actions: restricted = [] }: PlanResource): Judgement {
  const { change } = judgement;
  const isReplaced = change === 'replace' || change === 'maybe replace';
  const action = isReplaced ? 'replace' : 'update';
  const isRestricted = (isReplaced || change.endsWith('update')) && restricted.includes(action);
  return {
    ...judgement,
    ...(isRestricted && { because: `${action} is restricted for resource: the update would fail here` }),
    ...(isReplaced && {
      order: replacement === 'delete_first' ? ('delete before create' as const) : ('create before delete' as const),
    }),
  };
}

/** Rows of the resources to delete, in the reverse order of their creation. */
function deletions(existing: ReadonlyMap<string, ResourceDocument>, plan: Plan): PreviewRow[] {
  const doomed = new Map([...existing].filter(([name]) => !Object.hasOwn(plan.resources, name)));
  const nameOf = new Map(Array.from(doomed.values(), ({ id, name }) => [id, name]));
  const users = new Map<string, string[]>();
  for (const { name, requires } of doomed.values()) {
    for (const required of requires.flatMap((id) => nameOf.get(id) ?? [])) {
      users.set(required, [...(users.get(required) ?? []), name]);
    }
  }
  return inOrderOf(doomed, (name) => users.get(name) ?? []).map((resource) => ({
    name: resource.name,
    type: shownType(resource),
    change: 'delete',
    properties: [],
    after: users.get(resource.name) ?? [],
    planned: undefined,
    predicted: nothing,
    existing: resource,
    ...(resource.deletion_policy === 'Retain' && { because: 'deletion_policy is Retain: what is there stays' }),
    ...(resource.external && { because: 'it belongs to someone else: it is only forgotten' }),
  }));
}

/** Sorts so that each comes after its predecessors. Without recursion, because chains may be long. */
function inOrderOf<T>(all: ReadonlyMap<string, T>, before: (name: string) => readonly string[]): T[] {
  const waits = new Map<string, number>();
  const frees = new Map<string, string[]>();
  for (const name of all.keys()) {
    const known = before(name).filter((other) => other !== name && all.has(other));
    waits.set(name, known.length);
    for (const other of known) {
      const list = frees.get(other);
      if (list) list.push(name);
      else frees.set(other, [name]);
    }
  }
  const order = [...all.keys()].filter((name) => waits.get(name) === 0);
  for (const name of order) {
    for (const freed of frees.get(name) ?? []) {
      const left = (waits.get(freed) ?? 0) - 1;
      waits.set(freed, left);
      if (left === 0) order.push(freed);
    }
  }
  return order.flatMap((name) => all.get(name) ?? []);
}
