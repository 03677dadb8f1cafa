/** Rows of a preview in Heat's form. Each names its stack and its path, which Heat's clients print. Pure. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { PlannedChange } from '@anneal/contracts/calls/previews.ts';
import type { ResourceView } from '@anneal/contracts/calls/resources.ts';
import { heatTime } from '../representation.ts';

export interface PreviewedStack {
  readonly id: string;
  readonly name: string;
  readonly project: string;
}

/** The existing resources by path from the root: `a`, or `a.resources.b`. */
export function byPath(stack: PreviewedStack, views: readonly ResourceView[]): ReadonlyMap<string, ResourceView> {
  const pathOfStack = new Map([[stack.id, '']]);
  const found = new Map<string, ResourceView>();
  // Enclosing stacks come before nested ones.
  for (const view of views) {
    const around = pathOfStack.get(view.stack_id);
    if (around === undefined) continue;
    const path = `${around}${view.name}`;
    found.set(path, view);
    if (view.nested_stack) pathOfStack.set(view.nested_stack.id, `${path}.resources.`);
  }
  return found;
}

export function previewRow(
  { resource: path, type, change, required_by: requiredBy = [] }: PlannedChange,
  { stack, there }: { stack: PreviewedStack; there: ReadonlyMap<string, ResourceView> },
): JsonObject {
  const names = path.split('.resources.');
  const name = names.at(-1) ?? path;
  const parent = names.at(-2);
  const around = parent === undefined ? stack : there.get(names.slice(0, -1).join('.resources.'))?.nested_stack;
  // Heat names a nested stack after its parent and its resource.
  const newName = [stack.name, ...names.slice(0, -1)].join('-');
  const inside = { tenant: stack.project, stack_name: around?.name ?? newName, stack_id: around?.id ?? 'None' };
  const view = there.get(path);
  return {
    resource_name: name,
    resource_type: type,
    resource_action: view?.action ?? 'INIT',
    resource_status: view?.status ?? 'COMPLETE',
    resource_status_reason: view?.reason ?? '',
    physical_resource_id: view?.physical_id ?? '',
    creation_time: view ? heatTime(view.created_at) : null,
    updated_time: view ? heatTime(view.updated_at) : null,
    resource_identity: { ...inside, path: `/resources/${name}` },
    stack_identity: { ...inside, path: '' },
    stack_name: inside.stack_name,
    ...(view?.nested_stack && {
      nested_stack_id: {
        tenant: stack.project,
        stack_name: view.nested_stack.name,
        stack_id: view.nested_stack.id,
        path: '',
      },
    }),
    ...(parent !== undefined && { parent_resource: parent }),
    required_by: view?.required_by ?? requiredBy,
    description: '',
    metadata: {},
    attributes: {},
    change,
  };
}

/** The list of a preview in Heat's form that a change is in. */
export type PreviewList = 'unchanged' | 'updated' | 'replaced' | 'added' | 'deleted';

const lists: Readonly<Record<PlannedChange['change'], PreviewList>> = {
  unchanged: 'unchanged',
  update: 'updated',
  // A `maybe` change may turn out to change nothing, and only the run decides. Heat would not list it.
  'maybe update': 'updated',
  replace: 'replaced',
  'maybe replace': 'replaced',
  create: 'added',
  'maybe create': 'added',
  delete: 'deleted',
  'maybe delete': 'deleted',
};

/** Heat updates every nested stack of a stack that it updates, so it never lists one as unchanged. */
export const previewList = (
  { change, resource }: PlannedChange,
  there: ReadonlyMap<string, ResourceView>,
): PreviewList => (change === 'unchanged' && there.get(resource)?.nested_stack ? 'updated' : lists[change]);

/** The rows of a new stack in Heat's form: a nested stack is replaced by the list of its resources. */
export function nestedRows(
  changes: readonly PlannedChange[],
  stack: PreviewedStack,
  /** The types, whose attributes are listed. Their values are not known before the resource exists. */
  typeOf: ReadonlyMap<string, Pick<ResourceType, 'attributes'>>,
): Json[] {
  const inside = Map.groupBy(changes, ({ resource }) => resource.split('.resources.').slice(0, -1).join('.resources.'));
  const rowsIn = (path: string): Json[] =>
    (inside.get(path) ?? []).map((change) => {
      if (inside.has(change.resource)) return rowsIn(change.resource);
      const properties = change.properties.map(({ property, after }) => [property, after ?? null] as const);
      const attributes = Object.keys(typeOf.get(change.type)?.attributes ?? {}).map((name) => [name, null] as const);
      return {
        ...previewRow(change, { stack, there: new Map() }),
        properties: toRecord(properties),
        attributes: toRecord(attributes),
      };
    });
  return rowsIn('');
}
