import { stackShow } from '@anneal/contracts/calls/scheduling.ts';
import type { Expression, Plan } from '@anneal/contracts/plan.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callOf, literal, openHarness, planWith, project, resource, type Harness } from '../testing/running-service.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.dispose());

/** Computes tens of thousands of values, within the limit of a worker. */
const heavy: Expression = callOf('yaql', {
  expression: 'range(0, 190).select(range(0, 190).sum()).sum()',
  data: {},
});
const sum = (190 * 190 * 189) / 2;
/** Exceeds every limit. */
const endless: Expression = callOf('yaql', {
  expression: 'range(0, 190).select(range(0, 190).select(range(0, 190).sum()).sum()).sum()',
  data: {},
});

const outputs = (values: readonly Expression[]): Plan['outputs'] =>
  Object.fromEntries(values.map((value, index) => [`o${index}`, { name: `o${index}`, value }]));

describe('an expensive evaluation', () => {
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
    const length = 'range(0, 190).select(range(0, 190).sum()).sum() + len($.data.random) + len($.data.hidden)';
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
