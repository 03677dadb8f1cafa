import { nodeSchema, type NodeRepresentation } from '@anneal/client/representation.ts';
import { expect, it } from 'vitest';
import { powerDomainsOf, toneOfNode, tonesOf } from './racks.ts';

const node = (name: string, more: object = {}): NodeRepresentation =>
  nodeSchema.parse({ uuid: name, name, provision_state: 'available', last_error: null, ...more });

it('groups nodes by power domain and rack, in the order of their numbers, those without a place last', () => {
  const at = (rack: string, feed: string) => ({ properties: { rack, power_domain: feed } });
  const nodes = [
    node('lost'),
    node('u10', at('r2', 'a')),
    node('u2', at('r2', 'a')),
    node('x', at('r10', 'a')),
    node('y', at('r2', 'b')),
    node('z', { properties: { rack: 7 } }),
  ];
  const shown = powerDomainsOf(nodes).map(({ name, racks }) => [
    name,
    racks.map((rack) => `${rack.name}: ${rack.nodes.map((each) => each.name).join(' ')}`),
  ]);
  expect(shown).toEqual([
    ['a', ['r2: u2 u10', 'r10: x']],
    ['b', ['r2: y']],
    ['', [': lost z']],
  ]);
});

it('shows a fault before maintenance, and maintenance before the state', () => {
  const tones = [
    node('a', { fault: 'power failure', maintenance: true }),
    node('b', { provision_state: 'clean failed', maintenance: true }),
    node('c', { provision_state: 'active', maintenance: true }),
    node('d', { provision_state: 'active' }),
    node('e', { provision_state: 'wait call-back' }),
    node('f', { provision_state: 'clean hold' }),
    node('g'),
    node('h', { provision_state: 'manageable' }),
  ];
  expect(tones.map(toneOfNode)).toEqual(['failed', 'failed', 'wait', 'done', 'busy', 'wait', 'idle', 'idle']);
  expect(tonesOf(tones).get('failed')).toBe(2);
});
