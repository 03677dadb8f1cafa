/** The time limit of a nested stack: that of the stack around it, or a shorter one from its own properties. */
import { mostTimeoutMinutes } from '@anneal/contracts/calls/stacks.ts';
import type { NestedRequest, ResourceRequest } from '@anneal/contracts/resource.ts';
import { openProperty } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { stackTypeOf } from '@anneal/hot/types/stack-types.ts';

interface Asked extends Pick<ResourceRequest, 'properties'> {
  readonly resource: Pick<ResourceRequest['resource'], 'type'>;
  /** A template that the environment maps to such a type has properties of its own. */
  readonly nested?: Pick<NestedRequest, 'kind'> | undefined;
}

/** The timeout of each action in minutes; null when the properties set none. */
export function minutesOf(secrets: Pick<Secrets, 'open'>, { resource, properties, nested }: Asked): number | null {
  if (nested?.kind === 'template') return null;
  const { timeout } = stackTypeOf(resource.type) ?? {};
  const minutes = timeout === undefined ? undefined : openProperty(secrets, properties, timeout);
  return typeof minutes === 'number' && minutes > 0 ? Math.min(minutes, mostTimeoutMinutes) : null;
}

export function deadlineOf(
  { secrets, now }: { secrets: Pick<Secrets, 'open'>; now: Date },
  request: Asked & Pick<ResourceRequest, 'deadline'>,
): string {
  const minutes = minutesOf(secrets, request);
  if (minutes === null) return request.deadline;
  const own = new Date(now.getTime() + minutes * 60_000).toISOString();
  return own < request.deadline ? own : request.deadline;
}
