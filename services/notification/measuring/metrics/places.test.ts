import { expect, it } from 'vitest';
import { labelsOf, meteringOf, type StackPlace } from './places.ts';

const root = { id: 'r', name: 'web' };
const group = { id: 'g', name: 'web-workers', depth: 1 };

it.each<[string, StackPlace, string, Record<string, string>]>([
  ['a server of the root', { root, path: [], group: null }, 'db', { server: 'db' }],
  [
    'a member that is a server',
    { root, path: ['workers'], group },
    '0',
    { server: 'workers/0', member: '0', group: 'workers' },
  ],
  [
    'a server in a member that is a template',
    { root, path: ['workers', '0', 'inner'], group },
    'server',
    { server: 'workers/0/inner/server', member: '0', group: 'workers' },
  ],
  [
    'a server in a member of the warm pool',
    { root, path: ['workers', 'a'], group, warm: true },
    'server',
    { server: 'workers/a/server', member: 'a', group: 'workers', warm_pool: 'true' },
  ],
])('labels %s', (_, place, server, expected) => {
  const ofGroup = place.group ? { group_id: 'g', group_name: 'web-workers' } : {};
  expect(labelsOf(place, server)).toEqual({ stack: 'r', stack_name: 'web', ...expected, ...ofGroup });
});

it('takes the labels that a template gives, and no other metadata', () => {
  const metadata = { 'metering.role': 'web', 'metering.bad name': 'x', role: 'none', 'metering.count': 3 };
  expect(meteringOf({ properties: { metadata } })).toEqual({ role: 'web' });
  expect(meteringOf(undefined)).toEqual({});
});
