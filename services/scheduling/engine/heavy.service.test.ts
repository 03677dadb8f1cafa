import { resourceAct, stackResources } from '@anneal/contracts/calls/resources.ts';
import { stackShow } from '@anneal/contracts/calls/stacks.ts';
import type { Expression, Plan } from '@anneal/contracts/plan.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defaultEvaluation, type EvaluationLimits } from '@anneal/hot/limits.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from '../testing/running-service.ts';

let harness: Harness;
const openWith = async (limits: Partial<EvaluationLimits>): Promise<Harness> => {
  const evaluationLimits = { ...defaultEvaluation, ...limits };
  return openHarness({ context: await createTestContext({ name: 'scheduling', evaluationLimits }) });
};

/** Computes thousands of values: more than the event loop may, and within the limit of a worker. */
const heavy: Expression = callOf('yaql', {
  expression: 'range(0, 70).select(range(0, 70).sum()).sum()',
  data: {},
});
const sum = (70 * 70 * 69) / 2;
/** Exceeds every limit. */
const endless: Expression = callOf('yaql', {
  expression: 'range(0, 190).select(range(0, 190).select(range(0, 190).sum()).sum()).sum()',
  data: {},
});

const outputs = (values: readonly Expression[]): Plan['outputs'] =>
  Object.fromEntries(values.map((value, index) => [`o${index}`, { name: `o${index}`, value }]));

describe('an expensive evaluation', () => {
  // The tests share a worker, because its start costs more than their evaluations.
  beforeAll(async () => {
    harness = await openWith({ work: 300_000 });
  });
  afterAll(() => harness.dispose());

  it('of properties runs in a worker, and the stack completes with its result', async () => {
    const plan = planWith(
      [
        resource('first', { value: heavy }),
        resource('second', { value: heavy }),
        resource('light', { value: literal('x') }),
        resource(
          'third',
          { value: { kind: 'list', items: [callOf('get_attr', 'first', 'value'), heavy] } },
          { requires: ['first'] },
        ),
      ],
      { outputs: outputs([callOf('get_attr', 'third', 'value')]) },
    );
    const { id } = await harness.create('heavy', plan);
    const view = await harness.settled(id);
    expect(view).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    const { outputs: shown } = await harness.ask(stackShow, { project, stack: id, outputs: true });
    expect(shown).toMatchObject([{ key: 'o0', value: [sum, sum] }]);
  });

  it('matches its result although every evaluation creates new random and sealed values', async () => {
    const length = 'range(0, 70).select(range(0, 70).sum()).sum() + len($.data.random) + len($.data.hidden)';
    const measured: Expression = {
      kind: 'call',
      function: 'yaql',
      arguments: {
        kind: 'map',
        entries: [
          { key: 'expression', value: literal(length) },
          {
            key: 'data',
            value: {
              kind: 'map',
              entries: [
                { key: 'random', value: callOf('get_attr', 'random', 'value') },
                { key: 'hidden', value: callOf('get_attr', 'kept', 'value') },
              ],
            },
          },
        ],
      },
    };
    const plan = planWith(
      [
        resource('random', { length: literal(20) }, { type: 'OS::Heat::RandomString' }),
        resource('kept', { value: callOf('get_param', 'secret') }),
        resource('first', { value: measured }, { requires: ['kept', 'random'] }),
        resource(
          'second',
          { value: { kind: 'list', items: [callOf('get_attr', 'first', 'value'), measured] } },
          { requires: ['first', 'kept', 'random'] },
        ),
      ],
      {
        parameters: { secret: { type: 'string', value: harness.context.secrets.seal('s3cret'), hidden: true } },
        outputs: outputs([callOf('get_attr', 'second', 'value'), callOf('get_attr', 'random', 'value')]),
      },
    );
    const { id } = await harness.create('made', plan);
    const view = await harness.settled(id);
    expect(view).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    expect(harness.context.secrets.open(view.outputs?.[0]?.value ?? null)).toEqual([sum + 26, sum + 26]);
    expect(view.outputs?.[1]?.value).toHaveLength(20);
  });

  it('leaves each resource its own value when the step that makes several is tried again', async () => {
    const joined = (...items: Expression[]): Expression => ({
      kind: 'call',
      function: 'list_join',
      arguments: { kind: 'list', items: [literal('-'), { kind: 'list', items }] },
    });
    const read = (name: string): Expression => callOf('get_attr', name, 'output');
    const plan = planWith(
      [
        resource('slow', { value: literal('s') }, { type: 'OS::Heat::TestResource', hooks: ['pre-create'] }),
        resource('fast', { value: literal('f') }, { type: 'OS::Heat::TestResource' }),
        resource(
          'secret',
          { value: joined(callOf('get_param', 'password'), read('slow'), read('fast')) },
          { requires: ['fast', 'slow'] },
        ),
        resource('public', { value: joined(literal('public'), read('slow')) }, { requires: ['slow'] }),
        resource('drawn', { length: literal(24) }, { type: 'OS::Heat::RandomString', requires: ['slow'] }),
        resource('heavy', { value: { kind: 'list', items: [heavy, read('slow')] } }, { requires: ['slow'] }),
        resource(
          'all',
          {
            value: {
              kind: 'list',
              items: ['heavy', 'public', 'drawn'].map((name) => callOf('get_attr', name, 'value')),
            },
          },
          { requires: ['drawn', 'heavy', 'public'] },
        ),
      ],
      {
        parameters: { password: { type: 'string', value: harness.context.secrets.seal('TOPSECRET'), hidden: true } },
        outputs: outputs(
          ['all', 'drawn', 'heavy', 'public', 'secret'].map((name) => callOf('get_attr', name, 'value')),
        ),
      },
    );
    const { id } = await harness.create('swap', plan);
    // The resource that was made first is complete last, so the graph of a stack that is loaded again has another order.
    await eventually(
      async () => {
        const { resources } = await harness.ask(stackResources, { project, stack: id, detail: false });
        return resources.some(({ name, status }) => name === 'fast' && status === 'COMPLETE');
      },
      { what: 'the first resource' },
    );
    await harness.ask(resourceAct, {
      project,
      stack: id,
      resource: 'slow',
      action: { kind: 'clear hook', hook: 'pre-create' },
    });
    expect(await harness.settled(id, 30_000)).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    const { outputs: shown } = await harness.ask(stackShow, { project, stack: id, outputs: true });
    const [all, drawn, heavily, openly, secretly] = (shown ?? []).map(({ value }) => value);
    expect(drawn).toMatch(/^[A-Za-z0-9]{24}$/);
    expect(heavily).toEqual([sum, 's']);
    expect(openly).toBe('public-s');
    expect(harness.context.secrets.open(secretly ?? null)).toBe('TOPSECRET-s-f');
    expect(all).toEqual([heavily, openly, drawn]);
  });

  it('of properties without end fails its resource', async () => {
    const { id } = await harness.create('endless', planWith([resource('r', { value: endless })]));
    const view = await harness.settled(id);
    expect(view).toMatchObject({ action: 'CREATE', status: 'FAILED' });
    expect(view.reason).toContain('takes too much work');
  });

  it('of outputs runs in a worker under one limit for all of them, while others are answered', async () => {
    const plan = planWith([resource('light', { value: literal(1) })], {
      outputs: outputs([heavy, callOf('get_attr', 'light', 'value'), endless, endless]),
    });
    const { id } = await harness.create('outputs', plan);
    await harness.settled(id);
    const order: string[] = [];
    const shown = harness.ask(stackShow, { project, stack: id, outputs: true }).then((view) => {
      order.push('outputs');
      return view.outputs ?? [];
    });
    for (let index = 0; index < 5; index += 1) {
      await harness.ask(stackShow, { project, stack: id, outputs: false });
      order.push('neighbour');
    }
    const found = await shown;
    expect(order.indexOf('outputs')).toBeGreaterThan(0);
    expect(found[0]).toMatchObject({ key: 'o0', value: sum });
    expect(found[2]).toMatchObject({
      key: 'o2',
      value: null,
      error: expect.stringContaining('too much work') as string,
    });
    expect(found[1]).toMatchObject({ key: 'o1', value: 1 });
  });
});

describe('the limits of an evaluation', () => {
  beforeEach(async () => {
    harness = await openWith({ work: 1_000_000 });
  });
  afterEach(() => harness.dispose());

  /** Within the loop: one list. In a worker: each of its elements is visited. */
  const ofList = (expression: string): Expression =>
    callOf('yaql', { expression, data: Array.from({ length: 10_000 }, (_, at) => ({ name: `n${at}` })) });
  const short = callOf('yaql', { expression: 'range(300)', data: {} });
  const long = ofList('$.data.where($.name != null).select($.name).toList().len()');

  it('are named by a failed resource and a failed output, on the event loop and in a worker', async () => {
    const plan = planWith([resource('light', { value: literal(1) })], {
      outputs: outputs([short, heavy, ofList('$.data.select(1)')]),
    });
    const { id } = await harness.create('named', plan);
    const { outputs: shown = [] } = await harness.settled(id);
    const elements = 'Collection length exceeds 200 elements (the limit is ANNEAL_YAQL_LIMIT_ITERATORS)';
    expect(shown[0]?.error).toContain(elements);
    const memory = 'has over 10000 bytes (the limit is ANNEAL_YAQL_MEMORY_QUOTA)';
    expect(shown[2]?.error).toContain(memory);
    const failed = await harness.create('failed', planWith([resource('r', { value: long })]));
    expect((await harness.settled(failed.id)).reason).toContain(memory);
    const endlessly = await harness.create('endless', planWith([resource('r', { value: endless })]));
    expect((await harness.settled(endlessly.id)).reason).toContain('(the limit is ANNEAL_EVALUATION_WORK)');
  });

  it('are those of the operator in properties and outputs, on the event loop and in a worker', async () => {
    await harness.dispose();
    harness = await openWith({ elements: 10_000, memory: 1_000_000 });
    const plan = planWith([resource('short', { value: short }), resource('long', { value: long })], {
      outputs: outputs([short, long, callOf('get_attr', 'long', 'value')]),
    });
    const { id } = await harness.create('raised', plan);
    const view = await harness.settled(id);
    expect(view).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
    expect(view.outputs?.map(({ value }) => (Array.isArray(value) ? value.length : value))).toEqual([
      300, 10_000, 10_000,
    ]);
  });
});
