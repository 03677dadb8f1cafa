import { parseExact } from '@anneal/contracts/read-json.ts';
import { readFileSync } from 'node:fs';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { compiled } from '../testing/types-and-compile.ts';
import { evaluate, type Scope } from '../evaluate.ts';
import { EvaluationWork } from '../evaluate/work.ts';

/** The result of each function in a version. A row without `is` is refused. */
interface Row {
  readonly is?: Json;
}
const table = parseExact(readFileSync(new URL('../testdata/functions.json', import.meta.url), 'utf8')) as unknown as {
  parameters: string;
  files: Record<string, string>;
  rows: [string, string, Row][];
};

function run(version: string, value: string): { is?: unknown } {
  const template = `heat_template_version: ${version}\n${table.parameters}outputs:\n  o:\n    value: ${value}\n`;
  const plan = compiled(template, { files: table.files });
  if (Array.isArray(plan)) return {};
  const output = plan.outputs['o'];
  const scope: Scope = {
    templateVersion: plan.template_version,
    work: new EvaluationWork(),
    parameter: (name) => plan.parameters[name]?.value,
    lacks: (name) => !Object.hasOwn(plan.parameters, name),
    reference: () => undefined,
    attribute: () => undefined,
  };
  try {
    return { is: output && evaluate(output.value, scope) };
  } catch (error) {
    // An output shows a mistake that depends on the value of a parameter.
    if (error instanceof AnnealError) return {};
    throw error;
  }
}

describe('each function of each version', () => {
  it.each(table.rows)('%s %s', (version, value, row) => {
    // As text, because 1.0 is not 1.
    expect(JSON.stringify(run(version, value))).toBe(JSON.stringify(row));
  });
});
