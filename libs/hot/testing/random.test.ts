/** Every document is evaluated within its work, or refused with a position. fast-check prints the seed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { array, assert, constantFrom, dictionary, letrec, oneof, property, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { evaluate } from '../evaluate.ts';
import { formatText } from '../tooling/format.ts';
import { functions } from '../functions/table.ts';
import { compiled } from './types-and-compile.ts';
import { EvaluationWork } from '../evaluate/work.ts';
import { defaultEvaluation } from '../limits.ts';

const versions = ['2013-05-23', '2014-10-16', '2015-10-15', '2016-10-14', '2017-09-01', '2018-08-31', '2021-04-16'];
const scalars = [
  'a',
  '',
  'aXa',
  '$.data.where($ > 1)',
  'sha1',
  'p',
  'q',
  'r',
  '0',
  '-1',
  ' ',
  '{"a": [1]}',
  '\ud800',
  0,
  -1,
  2.5,
  1e21,
  true,
  null,
];
const keys = [
  'a',
  'X',
  'template',
  'params',
  'for_each',
  'permutations',
  'expression',
  'data',
  'keys',
  'values',
  'host',
  'port',
  'query',
  '1',
];
const names = [...functions.keys(), 'if', 'get_parm'];

const { value } = letrec<{ value: unknown }>((tie) => ({
  value: oneof(
    { maxDepth: 4, withCrossShrink: true },
    constantFrom<unknown>(...scalars),
    array(tie('value'), { maxLength: 4 }),
    dictionary(constantFrom(...keys), tie('value'), { maxKeys: 4 }),
    tuple(constantFrom(...names), tie('value')).map(([name, argument]) => ({ [name]: argument })),
    tuple(constantFrom(...names), array(tie('value'), { minLength: 2, maxLength: 3 })).map(([name, list]) => ({
      [name]: list,
    })),
  ),
}));

const scope = (version: string) => ({
  templateVersion: version,
  parameter: (name: string) => (name === 'p' ? ['x', { a: 1 }] : undefined),
  reference: () => 'id',
  attribute: () => ({ a: [1, { b: null }], show: {} }),
  work: new EvaluationWork({ ...defaultEvaluation, work: 50_000 }),
});

describe('a random document', () => {
  it('is evaluated, or refused with a place', () => {
    assert(
      property(constantFrom(...versions), value, (version, made) => {
        const head = { heat_template_version: version, parameters: { p: { type: 'json' }, q: { type: 'string' } } };
        const text = stringify({
          ...head,
          resources: { r: { type: 'OS::Heat::None' } },
          outputs: { o: { value: made } },
        });
        const plan = compiled(text, { parameters: { p: ['x', { a: 1 }], q: 'aXa' } });
        if (Array.isArray(plan)) {
          for (const { path, line } of plan) expect([typeof path, typeof line]).toEqual(['string', 'number']);
          return;
        }
        const output = plan.outputs['o'];
        if (!output) return;
        try {
          evaluate(output.value, scope(version), 'outputs.o.value');
        } catch (error) {
          expect(error).toBeInstanceOf(AnnealError);
          const [mistake] = (error as AnnealError).mistakes ?? [];
          expect(mistake?.path).toMatch(/^outputs\.o\.value/);
          expect(mistake?.line).toBeGreaterThan(1);
        }
      }),
      { numRuns: 1500 },
    );
  });

  const piece = constantFrom(
    ...'- |: |a|&x |*x|{|}|[|]|,|"|\'|#|\n|  |? |!!map |<<: |%YAML 1.1\n|---\n|...\n|\t|>-\n'.split('|'),
    '|\n',
  );
  it('is formatted, or refused with a place', () => {
    assert(
      property(
        oneof(
          array(piece, { maxLength: 25 }).map((parts) => parts.join('')),
          string(),
        ),
        (text) => {
          try {
            formatText(text);
          } catch (error) {
            expect(error).toBeInstanceOf(AnnealError);
            expect((error as AnnealError).mistakes?.[0]?.line).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 1500 },
    );
  });
});
