import { describe, expect, it } from 'vitest';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { evaluate, type Scope } from '../evaluate.ts';
import { lookupArguments, walk } from './attribute-path.ts';
import { type PartialValue, unknown } from './unknown.ts';
import { EvaluationWork } from './work.ts';

const value: PartialValue = {
  list: ['a', { b: 1 }],
  map: { '0': 'by text', true: 'by name' },
  text: 'abc',
  number: 7,
  none: null,
  open: unknown,
  half: ['known', unknown],
};

/** Heat: a missing part is null, an index is an integer (a boolean is one in Python), and a key is the text itself. */
const rows: [path: Json[], found: PartialValue][] = [
  [[], value],
  [['list', 0], 'a'],
  [['list', 1, 'b'], 1],
  [['list', -1, 'b'], 1],
  [['list', true, 'b'], 1],
  [['list', false], 'a'],
  [['list', 2], null],
  [['list', '0'], null],
  [['list', 0.5], null],
  [['list', null], null],
  [['map', '0'], 'by text'],
  [['map', 0], null],
  [['map', true], null],
  [['map', 'true'], 'by name'],
  [['map', 'constructor'], null],
  [['text', 1], 'b'],
  [['text', '1'], null],
  [['number', 0], null],
  [['none', 'a'], null],
  [['missing', 'a', 0], null],
  [['open', 'a', 0], unknown],
  [['half', 0], 'known'],
  [['half', 1, 'x'], unknown],
];

describe('the path of get_attr', () => {
  it.each(rows)('%j leads into a value as in Heat', (path, found) => {
    expect(walk(value, path)).toEqual(found);
  });

  it('is the same for an attribute that is read in parts and for one in a map of attributes', () => {
    const known = { list: ['a', { b: 1 }], map: { '0': 'by text' }, text: 'abc' };
    const scope = {
      templateVersion: '2018-08-31',
      work: new EvaluationWork(),
      parameter: () => undefined,
      reference: () => undefined,
    };
    const plain: Scope = { ...scope, attribute: () => ({ known }) };
    const inParts: Scope = { ...plain, read: (_resource, _attribute, path) => walk(known, path) };
    for (const [path] of rows.filter(([[first]]) => typeof first === 'string' && Object.hasOwn(known, first))) {
      const call: Expression = {
        kind: 'call',
        function: 'get_attr',
        arguments: { kind: 'literal', value: ['r', 'known', ...path] },
      };
      const wanted = walk(known, path);
      expect([evaluate(call, plain), evaluate(call, inParts)]).toEqual([wanted, wanted]);
    }
  });
});

describe('the arguments of a lookup', () => {
  const literal = (of: Json): Expression => ({ kind: 'literal', value: of });
  const call: Expression = { kind: 'call', function: 'get_param', arguments: literal('p') };

  it('are known at their positions, written as a list or as one value', () => {
    expect(lookupArguments(literal(['r', 'a', 0]))).toEqual(['r', 'a', 0]);
    expect(lookupArguments(literal('r'))).toEqual(['r']);
    expect(lookupArguments({ kind: 'list', items: [literal('r'), call, literal(0)] })).toEqual(['r', undefined, 0]);
    expect(lookupArguments(call)).toEqual([]);
  });

  it('may be computed by the caller', () => {
    const read = (item: Expression) => (item.kind === 'literal' ? item.value : 'worked out');
    expect(lookupArguments({ kind: 'list', items: [literal('r'), call] }, read)).toEqual(['r', 'worked out']);
  });
});
