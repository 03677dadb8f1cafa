import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { planOf } from '../testing.ts';
import { evaluate } from '../evaluate.ts';
import { yaqlRows } from '../yaql/library.ts';
import { exampleScope, functionRows } from './reference.ts';
import { conditionFunctions, functions } from './table.ts';

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
      parameter: (name) => plan.parameters[name]?.value,
      reference: (name) => (name === 'server' ? references.server : undefined),
      attribute: (name) =>
        name === 'server' ? (JSON.parse(JSON.stringify(attributes.server)) as JsonObject) : undefined,
    })
  );
}

describe('the table of functions', () => {
  it('has a row for every function, with its versions, and no other', () => {
    const values = new Map([...functions.values()].map(({ name, since, until }) => [name, { since, until }]));
    for (const name of ['if', 'equals', 'not', 'and', 'or'])
      values.set(name, { since: '2016-10-14', until: undefined });
    expect(new Map(functionRows.map(({ name, since, until }) => [name, { since, until }]))).toEqual(
      new Map(
        [...values].toSorted(
          ([a], [b]) =>
            functionRows.findIndex(({ name }) => name === a) - functionRows.findIndex(({ name }) => name === b),
        ),
      ),
    );
    const inConditions = functionRows.filter(({ stands }) => stands !== 'values');
    expect(new Map(inConditions.map(({ name, since, conditionsSince }) => [name, conditionsSince ?? since]))).toEqual(
      new Map([...conditionFunctions].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    );
  });

  it.each(functionRows.filter(({ example }) => example.gives !== undefined))(
    'shows what $name gives',
    ({ until, stands, example }) => {
      const version = until === undefined ? '2021-04-16' : until === '2015-10-15' ? '2014-10-16' : '2013-05-23';
      expect(valueOf(version, example.call as JsonObject, stands)).toEqual(example.gives);
    },
  );

  it('writes out how a function of yaql is called', () => {
    const row = yaqlRows().find(({ name }) => name === 'indexOf');
    expect(row?.forms).toContain('string.indexOf(sub: string, start?: int)');
    expect(row?.forms).toContain('list.indexOf(item: any)');
  });
});
