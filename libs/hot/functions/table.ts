/** Every function by name, and which versions know it. */
import { collectionFunctions, contains } from './collection.ts';
import type { TemplateFunction } from './function.ts';
import { lookups } from './lookup.ts';
import { selectFunctions } from './select.ts';
import { textFunctions } from './text.ts';
import { yaql } from './yaql.ts';

export const functions: ReadonlyMap<string, TemplateFunction> = new Map(
  [...lookups, ...textFunctions, ...collectionFunctions, ...selectFunctions, yaql].map((entry) => [entry.name, entry]),
);

/** Worked out while compiling: `if` chooses what is compiled at all, the others stand in conditions. */
export const conditionFunctions: ReadonlyMap<string, string> = new Map([
  ['equals', '2016-10-14'],
  ['not', '2016-10-14'],
  ['and', '2016-10-14'],
  ['or', '2016-10-14'],
  ['get_param', '2016-10-14'],
  [contains.name, contains.since],
  ['yaql', '2017-09-01'],
]);

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
  const found = functions.get(name);
  if (!found || version < found.since) return 'literal';
  return found.until !== undefined && version >= found.until ? 'removed' : 'function';
}

/** Whether its argument must be written out, since it is taken apart before anything is worked out. */
export const takesWritten = (name: string): boolean =>
  name === yaql.name || /^(?:resource_f|Fn::ResourceF)acade$/.test(name) || functions.get(name)?.written === true;
