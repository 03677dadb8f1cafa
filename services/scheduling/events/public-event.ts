/** Converts a stored event to the messages for subscribers. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { hookEvent, type HookEventData, lifecycleEvent, resourceEvent, stackEvent } from '@anneal/contracts/events.ts';
import { placeWithin, unknownOrigin, type Occasion, type Origin, type TreePlace } from '@anneal/contracts/origin.ts';
import { hookUrl } from '@anneal/runtime/secrets/hook-grant.ts';
import type { StoredEvent } from './event-runs.ts';
import { groupForm, type GroupFormTools } from './group-form.ts';

const stages: Readonly<Record<string, string>> = { IN_PROGRESS: 'started', COMPLETE: 'completed', FAILED: 'failed' };

interface Parts {
  readonly project: string;
  readonly cause: Envelope;
  readonly origin: Origin;
}

/** The messages about the events of a step, in order. `place`: where their stack is. */
export function publicForms(
  tools: GroupFormTools,
  events: readonly StoredEvent[],
  { place, ...parts }: Omit<Parts, 'origin'> & { readonly place: TreePlace },
): Envelope[] {
  const { project, cause } = parts;
  const { root, tags } = place;
  const forms: Envelope[] = [];
  let occasion: Occasion = unknownOrigin();
  for (const event of events) {
    if (event.occasion) ({ occasion } = event);
    const { path } = event.resource_id === undefined ? place : placeWithin(place, event.resource_name);
    const origin = { root, path, tags, actor: occasion.actor, cause: causeOf(event, occasion.cause) };
    const about = { project, cause, origin };
    forms.push(...publicForm(tools, event, about), ...groupForm(tools, event, about));
  }
  return forms;
}

const causeOf = ({ replacement, action }: StoredEvent, cause: Occasion['cause']): Occasion['cause'] =>
  replacement === undefined
    ? cause
    : {
        kind: 'replacement',
        id: cause.id,
        reason: action === 'DELETE' ? `replaced by ${replacement}` : `replaces ${replacement}`,
      };

/** Returns no message for an event that is only stored with the stack, such as a signal. */
function publicForm(tools: GroupFormTools, event: StoredEvent, { origin, ...parts }: Parts): Envelope[] {
  const { mint } = tools;
  const envelope = { ...parts, id: event.id, subject: event.stack_id };
  const common = {
    origin,
    stack_id: event.stack_id,
    stack_name: event.stack_name,
    action: event.action,
    status: event.status,
    reason: event.reason,
    version: event.object_version,
  };
  const failure = event.failure && { failure: event.failure };
  if (event.resource_id === undefined) {
    const key = `${event.action.toLowerCase()}.${stages[event.status] ?? ''}`;
    if (!Object.hasOwn(stackEvent, key)) return [];
    const definition = stackEvent[key as keyof typeof stackEvent];
    const sinks = event.event_sinks && { event_sinks: [...event.event_sinks] };
    return [mint(definition, { ...envelope, data: { ...common, ...failure, ...sinks, traversal: event.traversal } })];
  }
  const data = {
    ...common,
    resource_id: event.resource_id,
    resource_name: event.resource_name,
    resource_type: event.resource_type,
    physical_id: event.physical_id,
  };
  if (event.hook) return hookForm(tools, { ...envelope, data }, event.hook);
  const key = `${event.action.toLowerCase()}.${stages[event.status] ?? ''}`;
  if (!Object.hasOwn(resourceEvent, key)) return [];
  const definition = resourceEvent[key as keyof typeof resourceEvent];
  const { seconds } = event;
  const ending = { ...failure, ...(seconds !== undefined && { seconds }) };
  return [mint(definition, { ...envelope, data: { ...data, ...ending } })];
}

function hookForm(
  { mint, secrets, gatewayUrl }: GroupFormTools,
  {
    data,
    ...envelope
  }: { id: string; subject: string; project: string; cause: Envelope; data: Omit<HookEventData, 'hook'> },
  hook: NonNullable<StoredEvent['hook']>,
): Envelope[] {
  const { name, kind, state, token, deadline, metadata } = hook;
  const hookData = { ...data, hook: name };
  if (kind === 'hook') return [mint(hookEvent[state], { ...envelope, data: hookData })];
  // The token is for the host or operator that completes the hook. Events of the resource report the end of the wait.
  if (state === 'cleared' || deadline === null) return [];
  const { stack_id, resource_name } = data;
  const grant = { project: envelope.project, stack_id, resource_name, hook: name, token };
  const lifecycle = {
    ...hookData,
    transition: name,
    token,
    deadline,
    default_result: hook.default ?? 'abandon',
    url: hookUrl(gatewayUrl, { secrets, grant }),
    ...(metadata && { metadata }),
  };
  return [mint(lifecycleEvent.waiting, { ...envelope, data: lifecycle })];
}
