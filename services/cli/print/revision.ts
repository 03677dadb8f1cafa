/** Formats revisions of a stack and the difference of two. Pure. */
import { diffLines, hunksOf } from '@anneal/client/text/diff.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { StackRevision } from '@anneal/contracts/calls/stack-history.ts';
import { exactYaml } from '@anneal/contracts/exact-yaml.ts';
import { Scalar, stringify } from 'yaml';
import type { Colors } from '../output.ts';

/** The actor of a revision: `admin`, `policy grow`. */
export function actorText({ occasion }: StackRevision): string | undefined {
  if (!occasion) return undefined;
  const { kind, name } = occasion.actor;
  return kind === 'user' || kind === 'system' ? name : `${kind} ${name}`;
}

/** The contents that a difference compares. */
interface Contents {
  readonly template: JsonObject;
  readonly environment: JsonObject;
  readonly files: JsonObject;
  readonly parameters: JsonObject;
}

/** As YAML 1.1 reads it, which the server does: `yes` stays text. */
const yamlOf = (value: JsonObject): string =>
  exactYaml({ stringify, Scalar }, value, { version: '1.1', lineWidth: 100, blockQuote: 'literal' }).trimEnd();

/** The lines of a difference, like those of `diff -u`. Empty without one. */
export function differenceLines(before: Contents, after: Contents, colors: Colors): string[] {
  const texts = (['template', 'environment', 'files'] as const).flatMap((part) => {
    if (JSON.stringify(before[part]) === JSON.stringify(after[part])) return [];
    return [colors.bold(`${part}:`), ...textLines(yamlOf(before[part]), yamlOf(after[part]), colors)];
  });
  return [...parameterLines(before.parameters, after.parameters, colors), ...texts];
}

const shown = (value: Json | undefined): string =>
  value === undefined ? '(not set)' : typeof value === 'string' ? value : JSON.stringify(value);

function parameterLines(before: JsonObject, after: JsonObject, colors: Colors): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  if (names.length === 0) return [];
  return [
    colors.bold('parameters:'),
    ...names.map((name) => `  ${name}: ${colors.red(shown(before[name]))} → ${colors.green(shown(after[name]))}`),
  ];
}

function textLines(before: string, after: string, colors: Colors): string[] {
  return hunksOf(diffLines(before, after)).flatMap((hunk) => {
    if (typeof hunk === 'number') return [colors.dim(`  … ${hunk} equal ${hunk === 1 ? 'line' : 'lines'}`)];
    return hunk.map(({ kind, text }) => {
      if (kind === 'same') return `    ${text}`;
      return kind === 'removed' ? colors.red(`  - ${text}`) : colors.green(`  + ${text}`);
    });
  });
}
