/** Every function by name. Its row in `reference.ts` says which versions know it. */
import { collectionFunctions } from './collection.ts';
import type { TemplateFunction } from './function.ts';
import { lookups } from './lookup.ts';
import { functionRows } from './reference.ts';
import { selectFunctions } from './select.ts';
import { textFunctions } from './text.ts';
import type { Version } from '../syntax/version.ts';
import { yaql } from './yaql.ts';

/** The functions by name. */
export const functions: ReadonlyMap<string, TemplateFunction> = new Map(
  [...lookups, ...textFunctions, ...collectionFunctions, ...selectFunctions, yaql].map((entry) => [entry.name, entry]),
);

const rows = new Map(functionRows.map((row) => [row.name, row]));

/** Functions allowed in a condition, with the version that introduces each. */
export const conditionFunctions: ReadonlyMap<string, Version> = new Map(
  functionRows.flatMap(({ name, stands, since, conditionsSince = since }) =>
    stands === 'values' ? [] : [[name, conditionsSince] as const],
  ),
);

/** Names of functions in some version or dialect. In a version without the function, the name is an ordinary key. */
const elsewhere = ['if', 'Fn::GetAtt', 'Fn::FindInMap', 'Fn::If', 'Fn::Equals', 'Fn::Not', 'Fn::And', 'Fn::Or'];

/** Every name that some version knows as a function, also those that only conditions know. */
export const everyName: ReadonlySet<string> = new Set([
  ...functions.keys(),
  ...conditionFunctions.keys(),
  ...elsewhere,
]);

/** How a version reads a name. */
export type Known = 'function' | 'removed' | 'literal';

/** Classifies a single-key map with this name in a value. */
export function lookUpFunction(name: string, version: string): Known {
  const row = functions.has(name) ? rows.get(name) : undefined;
  if (!row || version < row.since) return 'literal';
  return row.until !== undefined && version >= row.until ? 'removed' : 'function';
}

/** True when the argument must be literal, because the compiler takes it apart before it evaluates anything. */
export const takesWritten = (name: string): boolean =>
  name === yaql.name || /^(?:resource_f|Fn::ResourceF)acade$/.test(name) || functions.get(name)?.written === true;
