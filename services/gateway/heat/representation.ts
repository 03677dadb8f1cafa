/** Stacks, resources, outputs and events in Heat's form. Pure: from a view and the address of the stacks to JSON. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceView, StackEvent, StackView } from '@anneal/contracts/calls/scheduling.ts';

/** `http://host/orchestration/v1/<project>` */
export type Root = string;

const link = (href: string, rel: string) => ({ href, rel });
/** Encodes a name. Older stored names may contain lone surrogates, which have no encoding. */
const part = (name: string): string => encodeURIComponent(name.toWellFormed());

/** A time in Heat's form, without fractions. */
export const heatTime = (time: string): string => `${time.slice(0, 19)}Z`;
const heatTimeOrNull = (time: string | null): string | null => (time === null ? null : heatTime(time));

type Named = { readonly id: string; readonly name: string };
export const stackHref = (root: Root, { id, name }: Named): string => `${root}/stacks/${part(name)}/${id}`;
const resourceHref = (root: Root, stack: Named, resource: string): string =>
  `${stackHref(root, stack)}/resources/${part(resource)}`;

/** Heat shows every parameter as text, the way its own language prints it. */
export function parameterText(value: Json): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.map(String).join(',');
  return JSON.stringify(value);
}

function parametersOf(stack: StackView): Record<string, string> {
  const own = Object.entries(stack.parameters).map(([name, value]) => [name, parameterText(value)] as const);
  return {
    'OS::stack_id': stack.id,
    'OS::project_id': stack.project,
    'OS::stack_name': stack.name,
    ...Object.fromEntries(own),
  };
}

export type OutputView = NonNullable<StackView['outputs']>[number];

export const sortedOutputs = (stack: StackView): OutputView[] =>
  [...(stack.outputs ?? [])].sort((a, b) => (a.key < b.key ? -1 : 1));

export const outputBody = ({ key, description, value, error }: OutputView): JsonObject => ({
  output_key: key,
  description: description === '' ? 'No description given' : description,
  output_value: value,
  ...(error !== undefined && { output_error: error }),
});

const statusOf = ({ action, status }: { action: string; status: string }): string => `${action}_${status}`;

export function stackBody(root: Root, stack: StackView): object {
  const description = stack.description === '' ? 'No description' : stack.description;
  return {
    stack_name: stack.name,
    id: stack.id,
    links: [link(stackHref(root, stack), 'self')],
    creation_time: heatTime(stack.created_at),
    updated_time: heatTimeOrNull(stack.updated_at),
    deletion_time: heatTimeOrNull(stack.deleted_at),
    notification_topics: [],
    parameters: parametersOf(stack),
    description,
    template_description: description,
    capabilities: [],
    disable_rollback: stack.on_failure !== 'rollback',
    timeout_mins: stack.timeout_minutes,
    stack_owner: stack.owner,
    parent: stack.parent,
    stack_user_project_id: stack.project,
    tags: stack.tags,
    stack_status: statusOf(stack),
    stack_status_reason: stack.reason,
    ...(stack.outputs && stack.deleted_at === null && { outputs: sortedOutputs(stack).map(outputBody) }),
    on_failure: stack.on_failure,
    failures: stack.failures,
    conditions: stack.conditions,
  };
}

export function stackRow(root: Root, stack: StackView): object {
  return {
    id: stack.id,
    links: [link(stackHref(root, stack), 'self')],
    stack_name: stack.name,
    description: '',
    stack_status: statusOf(stack),
    stack_status_reason: stack.reason,
    creation_time: heatTime(stack.created_at),
    updated_time: heatTimeOrNull(stack.updated_at),
    deletion_time: heatTimeOrNull(stack.deleted_at),
    stack_owner: stack.owner,
    parent: stack.parent,
    stack_user_project_id: stack.project,
    tags: stack.tags.length > 0 ? stack.tags : null,
  };
}

export function resourceBody(root: Root, resource: ResourceView, options: { detail: boolean; shown: boolean }): object {
  const stack = { id: resource.stack_id, name: resource.stack_name };
  return {
    updated_time: heatTime(resource.updated_at),
    creation_time: heatTime(resource.created_at),
    logical_resource_id: resource.name,
    resource_name: resource.name,
    physical_resource_id: resource.physical_id ?? '',
    resource_status: statusOf(resource),
    resource_status_reason: resource.reason,
    resource_type: resource.type,
    links: [
      link(resourceHref(root, stack, resource.name), 'self'),
      link(stackHref(root, stack), 'stack'),
      ...(resource.nested_stack ? [link(stackHref(root, resource.nested_stack), 'nested')] : []),
    ],
    required_by: resource.required_by,
    ...(resource.parent_resource !== undefined && { parent_resource: resource.parent_resource }),
    // Lists include the times, because a progress tree needs them for every resource at once.
    started_at: resource.started_at,
    finished_at: resource.finished_at,
    ...(resource.failure && { failure: resource.failure }),
    ...(options.detail && { description: resource.description, attributes: resource.attributes ?? {} }),
    ...(resource.hook && { hook: resource.hook }),
    ...(options.shown && {
      failure: resource.failure ?? null,
      conditions: resource.conditions,
      ...(resource.drift && { drift: resource.drift }),
    }),
  };
}

export function eventBody(root: Root, event: StackEvent, options: { rootStack?: Named } = {}): JsonObject {
  const stack = { id: event.stack_id, name: event.stack_name };
  const resource = resourceHref(root, stack, event.resource_name);
  return {
    id: event.id,
    links: [
      link(`${resource}/events/${event.id}`, 'self'),
      link(resource, 'resource'),
      link(stackHref(root, stack), 'stack'),
      ...(options.rootStack ? [link(stackHref(root, options.rootStack), 'root_stack')] : []),
    ],
    event_time: heatTime(event.time),
    logical_resource_id: event.resource_name,
    resource_name: event.resource_name,
    physical_resource_id: event.physical_id,
    resource_status: statusOf(event),
    resource_status_reason: event.reason,
    ...(event.failure && { failure: event.failure as unknown as JsonObject }),
  };
}
