/** The arguments of the conditions and actions of inspection rules: a map by name, or a list in order. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

export interface ArgumentNames {
  readonly needed: readonly string[];
  readonly more?: readonly string[];
}

/** The arguments by name. @throws AnnealError InvalidRequest that names what is missing or unknown */
export function ruleArguments(
  op: string,
  given: readonly Json[] | JsonObject,
  { needed, more = [] }: ArgumentNames,
): JsonObject {
  const names = [...needed, ...more];
  const args = Array.isArray(given)
    ? Object.fromEntries(given.map((value: Json, index) => [names[index] ?? `argument ${index + 1}`, value]))
    : (given as JsonObject);
  const missing = needed.filter((name) => !Object.hasOwn(args, name));
  const unknown = Object.keys(args).filter((name) => !names.includes(name));
  if (missing.length === 0 && unknown.length === 0) return args;
  const texts = [
    ...(missing.length > 0 ? [`it needs ${missing.join(', ')}`] : []),
    ...(unknown.length > 0 ? [`it knows no ${unknown.join(', ')}`] : []),
  ];
  throw new AnnealError('InvalidRequest', `The arguments of ${op} are wrong: ${texts.join('; ')}.`);
}
