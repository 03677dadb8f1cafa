/** Reads the event sinks of environments. Pure. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { mostStackSinks, stackSinkSchema, type StackSink } from '@anneal/contracts/stack-sink.ts';
import { nearestName, type Mistakes } from '../mistakes.ts';

const section = 'event_sinks';
const types = [...stackSinkSchema.shape.type.values];

/** The lists of several environments as one: a later sink replaces an earlier one with the same target. */
export function joinEventSinks(before: readonly Json[], later: readonly Json[]): Json[] {
  const targets = new Set(later.map(targetOf));
  return [...before.filter((each) => !targets.has(targetOf(each))), ...later];
}

const targetOf = (sink: Json): Json | undefined => (isObject(sink) ? sink['target'] : sink);

/** The sinks of a joined list; adds every mistake in it. */
export function readEventSinks(
  list: readonly Json[],
  { mistakes, at }: { mistakes: Mistakes; at: PlanSource | undefined },
): StackSink[] {
  if (list.length > mostStackSinks) {
    const message = `environment section "${section}" has ${list.length} sinks; at most ${mostStackSinks} are allowed`;
    mistakes.add({ code: 'InvalidEventSink', message, path: section, at });
  }
  return list.flatMap((sink, index) => {
    const parsed = safeParseExact(stackSinkSchema, sink);
    if (parsed.success) return [parsed.data];
    for (const issue of parsed.error.issues) {
      const path = [section, index, ...issue.path].join('.');
      const given = isObject(sink) ? sink['type'] : undefined;
      const isType = issue.path[0] === 'type' && typeof given === 'string';
      const message = isType ? `unknown event sink type "${given}"; the known type is zaqar-queue` : issue.message;
      const nearest = isType ? nearestName(given, types) : undefined;
      mistakes.add({ code: 'InvalidEventSink', message, path, at, ...(nearest !== undefined && { nearest }) });
    }
    return [];
  });
}
