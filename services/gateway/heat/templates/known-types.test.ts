import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import { expect, it } from 'vitest';
import type { Ask } from '../../ask.ts';
import { rememberTypes } from './known-types.ts';

const typeNamed = (type: string) => ({ type, provider: 'p', properties: {}, attributes: {} });

/** Answers like the templating service, which has the list of a version. */
function askFrom(state: { version: string | undefined; names: string[] }) {
  const sent: number[] = [];
  const ask = (_service: string, call: unknown, { data }: { data: { known?: string } }) => {
    expect(call).toBe(resourceTypeList);
    const { version, names } = state;
    const unchanged = version !== undefined && data.known === version;
    sent.push(unchanged ? 0 : names.length);
    return Promise.resolve({ types: unchanged ? [] : names.map(typeNamed), version, unchanged });
  };
  return { ask: ask as unknown as Ask, sent };
}

it('the list comes once, and again when it has changed', async () => {
  const state = { version: '1', names: ['b', 'a'] };
  const { ask, sent } = askFrom(state);
  const types = rememberTypes(ask);
  const namesNow = async () => (await types()).map(({ type }) => type);
  expect([await namesNow(), await namesNow()]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
  Object.assign(state, { version: '2', names: ['c'] });
  expect(await namesNow()).toEqual(['c']);
  expect(sent).toEqual([2, 0, 1]);
});

it('a service without versions sends the list each time', async () => {
  const { ask, sent } = askFrom({ version: undefined, names: ['a'] });
  const types = rememberTypes(ask);
  await types();
  expect(await types()).toHaveLength(1);
  expect(sent).toEqual([1, 1]);
});
