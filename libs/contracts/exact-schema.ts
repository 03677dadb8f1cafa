/**
 * Reads values with a schema that knows only plain numbers. A field for a number gets 60 for `60.0`; everywhere else numbers
 * keep their form.
 */
import { toRecord } from './ordered-map.ts';
import type { z } from 'zod';
import { isExact } from './exact-number.ts';
import { isObject } from './plain-json.ts';

/** Each round makes the numbers plain that the schema has refused, and the schema may then look further. */
const mostRounds = 5;

/** Parses as the schema does. */
export function safeParseExact<S extends z.ZodType>(schema: S, given: unknown): z.ZodSafeParseResult<z.output<S>> {
  let value = given;
  let parsed = schema.safeParse(value);
  for (let round = 0; round < mostRounds && !parsed.success; round += 1) {
    let next = value;
    for (const path of pathsIn(parsed.error.issues)) next = withPlain(next, path);
    if (next === value) return parsed;
    value = next;
    parsed = schema.safeParse(value);
  }
  return parsed;
}

type Path = readonly PropertyKey[];

/** The paths of the refused values, also of those that one choice of a union refuses. */
function pathsIn(issues: readonly z.core.$ZodIssue[], before: Path = []): Path[] {
  return issues.flatMap((issue): Path[] => {
    const path = [...before, ...issue.path];
    return issue.code === 'invalid_union' ? [path, ...issue.errors.flatMap((choice) => pathsIn(choice, path))] : [path];
  });
}

/** The value with a plain number at the path; the value itself when there is no number that keeps its text. */
function withPlain(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return isExact(value) ? Number(value) : value;
  if (Array.isArray(value) && typeof step === 'number') {
    const item: unknown = value[step];
    const changed = withPlain(item, rest);
    return changed === item ? value : value.with(step, changed);
  }
  if (!isObject(value) || typeof step !== 'string' || !Object.hasOwn(value, step)) return value;
  const item = value[step];
  const changed = withPlain(item, rest);
  return changed === item
    ? value
    : toRecord(Object.entries(value).map(([name, each]) => [name, name === step ? changed : each]));
}
