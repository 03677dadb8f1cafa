import { afterEach, describe, expect, it } from 'vitest';
import type { Expression } from '@anneal/contracts/plan.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import {
  callOf,
  literal,
  openHarness,
  planWith,
  project,
  resource,
  testSettings,
  type Harness,
} from './testing/running-service.ts';

/** Smaller than the default, so that a value exceeds it after fewer doublings, on the event loop. */
const valueBytes = 16_384;

let harness: Harness;
const open = async (settings: Partial<typeof testSettings>): Promise<void> => {
  harness = await openHarness({ settings });
};
afterEach(() => harness.dispose());

const attribute = (name: string): Expression => callOf('get_attr', name, 'value');
const call = (name: string, argument: Expression): Expression => ({
  kind: 'call',
  function: name,
  arguments: argument,
});
const list = (...items: Expression[]): Expression => ({ kind: 'list', items });
const map = (entries: Record<string, Expression>): Expression => ({
  kind: 'map',
  entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
});

/** Every way in which a template can double the size of a value. */
const doublings: Record<string, (name: string) => Expression> = {
  list_join: (name) => call('list_join', list(literal(''), list(attribute(name), attribute(name)))),
  str_replace: (name) => call('str_replace', map({ template: literal('a a'), params: map({ a: attribute(name) }) })),
  repeat: (name) =>
    call(
      'repeat',
      map({ template: list(attribute(name), literal('%x%')), for_each: map({ '%x%': literal(['a', 'b']) }) }),
    ),
  yaql: (name) => call('yaql', map({ expression: literal('[$.data.x, $.data.x]'), data: map({ x: attribute(name) }) })),
  map_merge: (name) => call('map_merge', list(map({ a: attribute(name) }), map({ b: attribute(name) }))),
  list: (name) => list(attribute(name), attribute(name)),
};

describe('a value that doubles forty times', () => {
  const cases = Object.entries(doublings).map(([name, twice]) => ({ name, twice, most: valueBytes }));
  const inWorker = { name: 'list_join in a worker', twice: doublings['list_join']!, most: testSettings.valueBytes };
  it.each([...cases, inWorker])('fails the resource that exceeds the limit, by $name', async ({ twice, most }) => {
    await open({ valueBytes: most });
    const first = resource('r0', { value: literal('x'.repeat(1000)) });
    const rest = Array.from({ length: 40 }, (_item, index) =>
      resource(`r${index + 1}`, { value: twice(`r${index}`) }, { requires: [`r${index}`] }),
    );
    const created = await harness.create('doubles', planWith([first, ...rest]));
    const ended = await harness.settled(created.id);
    expect(ended).toMatchObject({ action: 'CREATE', status: 'FAILED' });
    expect(ended.reason).toMatch(
      /TooLarge.*Property value of resource r\d+ has \d+ bytes.*ANNEAL_SCHEDULING_VALUE_BYTES/,
    );
    const { resources } = await harness.ask(stackResources, { project, stack: created.id, detail: true });
    expect(JSON.stringify(resources).length).toBeLessThan(10 * most);
    await harness.remove(created.id);
    expect(await harness.settled(created.id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
  });
});

describe('outputs', () => {
  it('are shown if they fit, and otherwise name the exceeded limit', async () => {
    await open({ valueBytes });
    const value = resource('r', { value: literal('x'.repeat(10_000)) });
    const output = (name: string, expression: Expression) => ({ name, value: expression });
    const outputs = { large: output('large', doublings['list_join']!('r')), fits: output('fits', attribute('r')) };
    const created = await harness.create('outputs', planWith([value], { outputs }));
    const { outputs: shown } = await harness.settled(created.id);
    expect(shown).toEqual([
      expect.objectContaining({
        key: 'large',
        value: null,
        error: expect.stringContaining('ANNEAL_SCHEDULING_VALUE_BYTES') as string,
      }),
      expect.objectContaining({ key: 'fits', value: 'x'.repeat(10_000) }),
    ]);
  });
});
