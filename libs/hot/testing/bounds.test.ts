/** Limits on the cost of a template, whatever it contains. Every refusal names its place. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { evaluate, type Unknown } from '../evaluate.ts';
import { Pattern } from '@anneal/python/pattern/pattern.ts';
import { knownTypes } from '../known.ts';
import { compiled, mistakesOf } from './types-and-compile.ts';
import { EvaluationWork } from '../evaluate/work.ts';
import { defaultEvaluation } from '../limits.ts';

const template = (value: string): string =>
  `heat_template_version: 2018-08-31\nparameters: {big: {type: json, default: []}}\noutputs:\n  o:\n    value: ${value}\n`;

const workOf = (work: number): EvaluationWork => new EvaluationWork({ ...defaultEvaluation, work });

/** Evaluates a value with a large parameter. */
function valueOf(value: string, big: Json, work = workOf(500_000)): Json | Unknown {
  const plan = compiled(template(value));
  if (Array.isArray(plan)) throw new AnnealError('InvalidTemplate', plan[0]?.message ?? '', { mistakes: plan });
  const output = plan.outputs['o'];
  if (!output) throw new Error('no output');
  const scope = {
    templateVersion: plan.template_version,
    parameter: () => big,
    reference: () => undefined,
    attribute: () => undefined,
    work,
  };
  return evaluate(output.value, scope, 'outputs.o.value');
}

function refusal(work: () => unknown): AnnealError {
  try {
    work();
  } catch (error) {
    if (error instanceof AnnealError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `x${index}`);
const each = (names: string): string =>
  names
    .split('')
    .map((name) => `${name}: {get_param: big}`)
    .join(', ');
const repeats = (inner: string, names: string): string => `{repeat: {template: ${inner}, for_each: {${each(names)}}}}`;

describe('the work of one evaluation', () => {
  it.each<[what: string, value: string, big: Json, at: string]>([
    ['repeat in repeat in repeat', repeats(repeats(repeats('a', 'ab'), 'cd'), 'ef'), many(99), 'repeat'],
    ['placeholders that bring each other', repeats('aaaaaaaa', 'a'), ['a'.repeat(3e6)], 'repeat'],
    [
      'a text that is put in often',
      "{str_replace: {template: '" + 'k'.repeat(9000) + "', params: {k: {get_param: big}}}}",
      'y'.repeat(50_000),
      'str_replace',
    ],
    [
      'a long delimiter',
      `{list_join: [{get_param: [big, 0]}, {get_param: [big, 1]}]}`,
      ['-'.repeat(200_000), many(5000)],
      'list_join',
    ],
    ['one big value read again and again', `[${'{get_param: big}, '.repeat(300)}]`, many(50_000), 'get_param'],
    [
      'a value as deep as no stack',
      '{get_param: big}',
      JSON.parse('['.repeat(9000) + ']'.repeat(9000)) as Json,
      'get_param',
    ],
    ['an expression that never ends', "{yaql: {expression: 'generate(1, true, $ + 1).len()', data: {}}}", null, 'yaql'],
  ])('is bounded: %s', (_, value, big, at) => {
    const { mistakes } = refusal(() => valueOf(value, big, workOf(100_000)));
    expect(mistakes?.[0]).toMatchObject({ line: 5, column: expect.any(Number) as number });
    expect(mistakes?.[0]?.path.split('.').at(-1)).toBe(at);
  });

  it('counts for a whole stack, whichever function comes last', () => {
    const work = workOf(5000);
    const once = (): unknown => valueOf("{list_join: [',', {get_param: big}]}", many(500), work);
    expect(once()).toBe(many(500).join(','));
    expect(refusal(() => Array.from({ length: 5 }, once)).message).toMatch(
      /^outputs\.o\.value\.list_join\S*: "\w+" takes too much work: everything in one stack and the stacks in it may make and read 5000 .*\(the limit is ANNEAL_EVALUATION_WORK\)/,
    );
  });
});

describe('long lists', () => {
  const numbers = Array.from({ length: 60_000 }, (_, index) => index);

  it('are made unique and filtered without comparing all pairs', () => {
    expect(valueOf('{list_concat_unique: [{get_param: big}, {get_param: big}]}', numbers)).toEqual(numbers);
    const [half, all] = [numbers.slice(0, 30_000), numbers];
    expect(valueOf('{filter: [{get_param: [big, 0]}, {get_param: [big, 1]}]}', [half, all])).toEqual(
      numbers.slice(30_000),
    );
  });

  it('have the equality of Python', () => {
    const given = [
      1,
      true,
      '1',
      0,
      false,
      null,
      '',
      [],
      {},
      { a: 1, b: [0] },
      { b: [false], a: true },
      ['list'],
      'list',
    ];
    expect(valueOf('{list_concat_unique: [{get_param: big}]}', given)).toEqual([
      1,
      '1',
      0,
      null,
      '',
      [],
      {},
      { a: 1, b: [0] },
      ['list'],
      'list',
    ]);
  });
});

describe('a search', () => {
  it('finds every match where an earlier one had passed', () => {
    const search = new Pattern('a*').on('aaXa');
    expect([0, 2, 3].map((from) => search.search(from)?.text)).toEqual(['aa', '', 'a']);
  });

  it('forgets the captures of an assertion that held', () => {
    expect(new Pattern('(?=a+b)ab').search('aaab')).toMatchObject({ text: 'ab', start: 2 });
  });

  it('of all matches takes work in proportion to the length of the text', () => {
    const work = (length: number): number => {
      const search = new Pattern('a').on('ab'.repeat(length));
      for (let found = search.search(); found; found = search.search(found.end));
      return search.steps;
    };
    expect(work(20_000)).toBeLessThan(work(10_000) * 2.1);
  });
});

it.each([
  ['count: .nan', 'is not an integer'],
  ['count: .inf', 'is not an integer'],
  ['count: 99999999999999999999', 'with the 100000000000000000000 members of g it has 100000000000000000000'],
])('a group with %s is refused with a number in the text', (count, message) => {
  const group = `heat_template_version: 2018-08-31
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {${count}, resource_def: {type: OS::Heat::None}}}
`;
  const found = mistakesOf(group, { maxResources: 1000, types: knownTypes });
  expect(found.map((mistake) => mistake.message).join('\n')).toContain(message);
});
