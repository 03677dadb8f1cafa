/** All functions of expressions, by family and by name. A method is found under its name with a dot. */
import type { FunctionDefinition } from '../call.ts';
import { yaqlCollectionFunctions } from './collections.ts';
import { controlFunctions } from './control.ts';
import { numberFunctions } from './numbers.ts';
import { patternFunctions } from './patterns.ts';
import { queryFunctions } from './queries.ts';
import { yaqlTextFunctions } from './text.ts';
import { timeFunctions } from './time.ts';

const families: Readonly<Record<string, readonly FunctionDefinition[]>> = {
  'decisions and names': controlFunctions,
  'queries to lists': queryFunctions,
  'lists, maps and sets': yaqlCollectionFunctions,
  text: yaqlTextFunctions,
  'regular expressions': patternFunctions,
  numbers: numberFunctions,
  time: timeFunctions,
};

/** The forms of each function by name. */
export const yaqlFunctions: ReadonlyMap<string, readonly FunctionDefinition[]> = byName();

function byName(): Map<string, FunctionDefinition[]> {
  const found = new Map<string, FunctionDefinition[]>();
  for (const definition of Object.values(families).flat()) {
    const kinds = definition.as === 'method' ? ['.'] : definition.as === 'function' ? [''] : ['.', ''];
    for (const prefix of kinds) {
      const key = prefix + definition.name;
      found.set(key, [...(found.get(key) ?? []), definition]);
    }
  }
  return found;
}

/** The documentation of a function. */
export interface YaqlRow {
  readonly name: string;
  readonly family: string;
  /** One form for each way to call it: `split(separator=null, maxSplits=-1)` after a string and a dot. */
  readonly forms: readonly string[];
}

/** Rows for people, without operators and functions that only the syntax calls. */
export function yaqlRows(): YaqlRow[] {
  const rows = new Map<string, { family: string; forms: Set<string> }>();
  for (const [family, definitions] of Object.entries(families)) {
    for (const definition of definitions) {
      if (definition.name.startsWith('#')) continue;
      const row = rows.get(definition.name) ?? { family, forms: new Set() };
      row.forms.add(form(definition));
      rows.set(definition.name, row);
    }
  }
  rows.set('switch', { family: 'decisions and names', forms: new Set(['switch(condition => value, …)']) });
  return [...rows].map(([name, { family, forms }]) => ({ name, family, forms: [...forms] }));
}

const kinds: Readonly<Record<string, string>> = {
  listing: 'list',
  nonset: 'list',
  once: 'list',
  frozen: 'set',
  lambda: 'expression',
  lazyrule: 'a => b',
  rule: 'a => b',
  some: 'any',
  names: 'context',
  pattern: 'regex',
  moment: 'datetime',
  span: 'timespan',
};

function form({ name, as, signature }: FunctionDefinition): string {
  const given = signature.parameters.map(({ name: parameter, kind, fallback }) => {
    const optional = fallback === undefined ? '' : '?';
    return { parameter, text: `${parameter}${optional}: ${kinds[kind] ?? kind}`, kind: kinds[kind] ?? kind };
  });
  const rest = signature.rest ? [`…${signature.rest.name}: ${kinds[signature.rest.kind] ?? signature.rest.kind}`] : [];
  const all = [...given.map(({ text }) => text), ...rest, ...(signature.named ? ['name => value, …'] : [])];
  const [receiver] = given;
  return as === 'function' || !receiver
    ? `${name}(${all.join(', ')})`
    : `${receiver.kind}.${name}(${all.slice(1).join(', ')})${as === 'both' ? `, or ${name}(${receiver.kind}${all.length > 1 ? ', …' : ''})` : ''}`;
}
