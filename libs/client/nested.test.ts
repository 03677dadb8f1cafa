import { expect, test } from 'vitest';
import { withPaths } from './nested.ts';
import type { Resource } from './representation.ts';

const resource = (name: string, stack: string, nested?: string): Resource =>
  ({
    resource_name: name,
    links: [
      { rel: 'stack', href: `https://anneal/stacks/s/${stack}` },
      ...(nested === undefined ? [] : [{ rel: 'nested', href: `https://anneal/stacks/n/${nested}` }]),
    ],
  }) as unknown as Resource;

const top = [resource('database', 'root'), resource('workers', 'root', 'group')];
const members = [resource('0', 'group', 'first'), resource('1', 'group', 'second')];
const first = [resource('config', 'first'), resource('server', 'first')];
const second = [resource('config', 'second'), resource('server', 'second')];

test.each([
  ['the levels in order', [...top, ...members, ...first, ...second]],
  ['another order of the nested stacks', [...top, ...members, ...second, ...first]],
  ['the nested stacks first', [...second, ...first, ...members, ...top]],
])('puts the resources of each nested stack after it, from %s', (_, listed) => {
  expect(withPaths(listed).map(({ path }) => path)).toEqual([
    'database',
    'workers',
    'workers/0',
    'workers/0/config',
    'workers/0/server',
    'workers/1',
    'workers/1/config',
    'workers/1/server',
  ]);
});

test('keeps resources whose parent is not in the listing', () => {
  expect(withPaths([...first, ...members]).map(({ path }) => path)).toEqual(['0', '0/config', '0/server', '1']);
});
