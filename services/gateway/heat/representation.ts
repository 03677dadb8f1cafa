/** Stacks, resources, outputs and events in Heat's form. Pure: from a view and the address of the stacks to JSON. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { json, type Json } from '@anneal/contracts/json.ts';
import { conditionSchema, stackViewSchema, type StackEvent, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { resourceViewSchema, type ResourceView } from '@anneal/contracts/calls/resources.ts';
import { failureSchema } from '@anneal/contracts/failure.ts';
import { z } from 'zod';

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

/** The text of a parameter. A scheduling service of an older version sends values. */
export const shownParameter = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function parametersOf(stack: StackView): Record<string, string> {
  const own = Object.entries(stack.parameters).map(([name, value]) => [name, shownParameter(value)] as const);
  return {
    'OS::stack_id': stack.id,
    'OS::project_id': stack.project,
    'OS::stack_name': stack.name,
    ...toRecord(own),
  };
}

const links = z.array(z.object({ href: z.string(), rel: z.string() }));
const timeText = z.string().meta({ description: 'Without fractions of a second.' });
const statusText = z.string().meta({ description: 'Action and status: `CREATE_COMPLETE`.' });
/** The description and the link of a new stack. */
export const madeStackSchema = z.object({ id: z.string(), links });
const rowFields = {
  id: z.string(),
  links,
  stack_name: z.string(),
  description: z.string(),
  stack_status: statusText,
  stack_status_reason: z.string(),
  creation_time: timeText,
  updated_time: timeText.nullable(),
  finished_at: timeText.nullable().optional().meta({
    description: 'When the last action ended; null while one runs. Not in Heat.',
  }),
  cancelled: z.boolean().optional().meta({ description: 'True when the last action was cancelled. Not in Heat.' }),
  deletion_time: timeText.nullable(),
  stack_owner: z.string(),
  parent: z.string().nullable(),
  stack_user_project_id: z.string(),
  tags: z.array(z.string()).nullable(),
};
export const heatStackRowSchema = z
  .object({
    ...rowFields,
    project: z.string().optional().meta({ description: 'In a list over all projects.' }),
  })
  .meta({ id: 'StackRow' });
export const heatOutputSchema = z.object({
  output_key: z.string(),
  description: z.string(),
  output_value: json,
  output_error: z.string().optional(),
});
export const heatStackSchema = z
  .object({
    ...rowFields,
    notification_topics: z.array(z.string()),
    parameters: z.record(z.string(), z.string()),
    template_description: z.string(),
    capabilities: z.array(z.string()),
    disable_rollback: z.boolean(),
    timeout_mins: z.number().nullable(),
    outputs: z.array(heatOutputSchema).optional(),
    on_failure: stackViewSchema.shape.on_failure,
    failures: stackViewSchema.shape.failures,
    conditions: stackViewSchema.shape.conditions,
  })
  .meta({ id: 'HeatStack' });
export const heatResourceSchema = z
  .object({
    updated_time: timeText,
    creation_time: timeText,
    logical_resource_id: z.string(),
    resource_name: z.string(),
    physical_resource_id: z.string(),
    resource_status: statusText,
    resource_status_reason: z.string(),
    resource_type: z.string(),
    links,
    required_by: z.array(z.string()),
    parent_resource: z.string().optional(),
    started_at: z.string().nullable(),
    finished_at: z.string().nullable(),
    failure: failureSchema.nullish(),
    description: z.string().optional(),
    attributes: z.record(z.string(), json).optional(),
    hook: resourceViewSchema.shape.hook,
    conditions: z.array(conditionSchema).optional(),
    drift: resourceViewSchema.shape.drift,
  })
  .meta({ id: 'HeatResource' });
const eventFields = {
  id: z.string(),
  links,
  event_time: timeText,
  logical_resource_id: z.string(),
  resource_name: z.string(),
  physical_resource_id: z.string().nullable(),
  resource_status: statusText,
  resource_status_reason: z.string(),
  failure: failureSchema.optional(),
};
export const heatEventSchema = z.object(eventFields).meta({ id: 'HeatEvent' });
/** One event, with what the list leaves out. */
export const shownEventSchema = z.object({
  ...eventFields,
  resource_type: z.string(),
  resource_properties: z.record(z.string(), json),
});

export type OutputView = NonNullable<StackView['outputs']>[number];

export const sortedOutputs = (stack: StackView): OutputView[] =>
  [...(stack.outputs ?? [])].sort((a, b) => (a.key < b.key ? -1 : 1));

export const outputBody = ({ key, description, value, error }: OutputView): z.output<typeof heatOutputSchema> => ({
  output_key: key,
  description: description === '' ? 'No description given' : description,
  output_value: value,
  ...(error !== undefined && { output_error: error }),
});

const statusOf = ({ action, status }: { action: string; status: string }): string => `${action}_${status}`;

/** The end of the last action, which Heat does not show. */
const endOf = ({
  finished_at,
  cancelled,
}: StackView): Pick<z.output<typeof heatStackRowSchema>, 'finished_at' | 'cancelled'> => ({
  ...(finished_at !== undefined && { finished_at: heatTimeOrNull(finished_at) }),
  ...(cancelled && { cancelled }),
});

export function stackBody(root: Root, stack: StackView): z.output<typeof heatStackSchema> {
  const description = stack.description === '' ? 'No description' : stack.description;
  return {
    stack_name: stack.name,
    id: stack.id,
    links: [link(stackHref(root, stack), 'self')],
    creation_time: heatTime(stack.created_at),
    updated_time: heatTimeOrNull(stack.updated_at),
    ...endOf(stack),
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

export function stackRow(root: Root, stack: StackView): z.output<typeof heatStackRowSchema> {
  return {
    id: stack.id,
    links: [link(stackHref(root, stack), 'self')],
    stack_name: stack.name,
    description: '',
    stack_status: statusOf(stack),
    stack_status_reason: stack.reason,
    creation_time: heatTime(stack.created_at),
    updated_time: heatTimeOrNull(stack.updated_at),
    ...endOf(stack),
    deletion_time: heatTimeOrNull(stack.deleted_at),
    stack_owner: stack.owner,
    parent: stack.parent,
    stack_user_project_id: stack.project,
    tags: stack.tags.length > 0 ? stack.tags : null,
  };
}

export function resourceBody(
  root: Root,
  resource: ResourceView,
  options: { detail: boolean; shown: boolean },
): z.output<typeof heatResourceSchema> {
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

export function eventBody(
  root: Root,
  event: StackEvent,
  options: { rootStack?: Named } = {},
): z.output<typeof heatEventSchema> {
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
    ...(event.failure && { failure: event.failure }),
  };
}
