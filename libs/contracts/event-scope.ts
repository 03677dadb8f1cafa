/**
 * The scope of a filter: the events about some stacks, groups, hosts and tags. All doors (the event log, streams,
 * subscriptions) take it, and turn it into filters in the dialects of the CloudEvents Subscriptions API.
 */
import { z } from 'zod';
import type { JsonObject } from './json.ts';

const names = (description: string) =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((value) => [value].flat())
    .pipe(z.array(z.string().min(1).max(1000)).max(20))
    .optional()
    .meta({ description });

/** The parameters. An event must match every parameter that is given, and of its values one. */
export const eventScopeFields = {
  stack: names(
    'Events of this stack and of everything nested in it: a name or an id, and a path below it, as in `web/workers`.',
  ),
  tag: names('Events of stacks whose root has this tag.'),
  group: names('Events of this group and its members: its path from the root, as in `web/workers`, or its name.'),
  host: names('Events of this host and of the deployments on it: its name or id.'),
} as const;

/** The objects to which a listener can limit events. */
export const eventScopeAttributes = ['stack', 'tag', 'group', 'host'] as const;
export type EventScopeAttribute = (typeof eventScopeAttributes)[number];

/** The objects of which a listener wants the events. */
export type EventScope = { readonly [A in EventScopeAttribute]?: readonly string[] | undefined };

/** The filters that hold a scope; all must pass. */
export const filtersOfScope = (scope: EventScope): JsonObject[] =>
  eventScopeAttributes.flatMap((name) => {
    const exact = (scope[name] ?? []).map((value) => ({ exact: { [name]: value } }));
    const [first] = exact;
    if (!first) return [];
    return [exact.length === 1 ? first : { any: exact }];
  });
