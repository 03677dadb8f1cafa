import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { planOf } from '../testing/types-and-compile.ts';
import { evaluate } from '../evaluate.ts';
import { yaqlRows } from '../yaql/library/library.ts';
import { exampleScope, functionRows } from './reference.ts';
import { functions } from './table.ts';
import { EvaluationWork } from '../evaluate/work.ts';

const { parameters, references, attributes } = exampleScope;

function valueOf(version: string, call: JsonObject, stands: string): unknown {
  const isCondition = stands === 'conditions';
  const plan = planOf(
    {
      heat_template_version: version,
      parameters: { zone: { type: 'string' }, names: { type: 'comma_delimited_list' }, ports: { type: 'json' } },
      ...(isCondition && { conditions: { holds: call } }),
      resources: { server: { type: 'OS::Heat::None' } },
      outputs: { o: { value: isCondition ? { if: ['holds', true, false] } : call } },
    },
    { parameters: { ...parameters, names: [...parameters.names] } },
  );
  const value = plan.outputs['o']?.value;
  return (
    value &&
    evaluate(value, {
      templateVersion: version,
      work: new EvaluationWork(),
      parameter: (name) => plan.parameters[name]?.value,
      reference: (name) => (name === 'server' ? references.server : undefined),
      attribute: (name) =>
        name === 'server' ? (JSON.parse(JSON.stringify(attributes.server)) as JsonObject) : undefined,
    })
  );
}

describe('the table of functions', () => {
  it('has one row for each function', () => {
    const decided = ['if', 'equals', 'not', 'and', 'or'];
    expect(functionRows.map(({ name }) => name).toSorted()).toEqual([...functions.keys(), ...decided].toSorted());
  });

  it.each(functionRows.filter(({ example }) => example.gives !== undefined))(
    'shows what $name gives',
    ({ until, stands, example }) => {
      const version = until === undefined ? '2021-04-16' : until === '2015-10-15' ? '2014-10-16' : '2013-05-23';
      expect(valueOf(version, example.call as JsonObject, stands)).toEqual(example.gives);
    },
  );

  it('shows the call syntax of a yaql function', () => {
    const row = yaqlRows().find(({ name }) => name === 'indexOf');
    expect(row?.forms).toContain('string.indexOf(sub: string, start?: int)');
    expect(row?.forms).toContain('list.indexOf(item: any)');
  });
});
