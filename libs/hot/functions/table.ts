/** Every function by name. The versions that know it stand in its row of `reference.ts`. */
import { collectionFunctions } from './collection.ts';
import type { TemplateFunction } from './function.ts';
import { lookups } from './lookup.ts';
import { functionRows } from './reference.ts';
import { selectFunctions } from './select.ts';
import { textFunctions } from './text.ts';
import type { Version } from '../version.ts';
import { yaql } from './yaql.ts';

export const functions: ReadonlyMap<string, TemplateFunction> = new Map(
  [...lookups, ...textFunctions, ...collectionFunctions, ...selectFunctions, yaql].map((entry) => [entry.name, entry]),
);

const rows = new Map(functionRows.map((row) => [row.name, row]));

/** What may stand in a condition, since which version. */
export const conditionFunctions: ReadonlyMap<string, Version> = new Map(
  functionRows.flatMap(({ name, stands, since, conditionsSince = since }) =>
    stands === 'values' ? [] : [[name, conditionsSince] as const],
  ),
);

/** Names that mean something in some version or dialect: in a version that lacks them they are ordinary keys. */
const elsewhere = ['if', 'Fn::GetAtt', 'Fn::FindInMap', 'Fn::If', 'Fn::Equals', 'Fn::Not', 'Fn::And', 'Fn::Or'];

export const everyName: ReadonlySet<string> = new Set([
  ...functions.keys(),
  ...conditionFunctions.keys(),
  ...elsewhere,
]);

export type Known = 'function' | 'removed' | 'literal';

/** What a single-key map of this name is in a value. */
export function lookUp(name: string, version: string): Known {
  const row = functions.has(name) ? rows.get(name) : undefined;
  if (!row || version < row.since) return 'literal';
  return row.until !== undefined && version >= row.until ? 'removed' : 'function';
}

/** Whether its argument must be written out, since it is taken apart before anything is worked out. */
export const takesWritten = (name: string): boolean =>
  name === yaql.name || /^(?:resource_f|Fn::ResourceF)acade$/.test(name) || functions.get(name)?.written === true;
