import { describe, expect, it } from 'vitest';
import { place, type CandidateNode, type PlacementRequest } from './placement.ts';

const node = (name: string, change: Partial<CandidateNode> = {}): CandidateNode => ({
  id: `id-${name}`,
  name,
  state: 'available',
  resource_class: 'baremetal',
  traits: [],
  properties: {},
  power: 'power off',
  maintenance: false,
  fault: null,
  instance_id: null,
  work: null,
  ...change,
});
const flavors = { 'm1.small': 'baremetal' };
const placed = (wish: Partial<PlacementRequest>, all: readonly CandidateNode[]) =>
  place({ flavor: 'baremetal', traits: [], capabilities: {}, node: undefined, ...wish }, { all, flavors });
const names = (wish: Partial<PlacementRequest>, all: readonly CandidateNode[]): string[] =>
  placed(wish, all).nodes.map(({ name }) => name);
const why = (wish: Partial<PlacementRequest>, all: readonly CandidateNode[]): string => {
  const placement = placed(wish, all);
  return 'why' in placement ? placement.why : '';
};

describe('placement', () => {
  it('reads a flavor as a resource class or an entry of the setting; another flavor matches no node, and the reason explains it', () => {
    const all = [node('a'), node('b', { resource_class: 'gpu' }), node('c', { resource_class: 'm1.small' })];
    expect(names({ flavor: 'm1.small' }, all.slice(0, 2))).toEqual(['a']);
    expect(names({ flavor: 'm1.small' }, all)).toEqual(['c']);
    expect(names({ flavor: 'gpu' }, all)).toEqual(['b']);
    expect(why({ flavor: 'm9.huge' }, all)).toBe(
      'none of 3 nodes fits: resource class m9.huge 0 of 3 (enrolled: 1 baremetal, 1 gpu, 1 m1.small)',
    );
  });

  it('prefers machines that are off, then orders by name', () => {
    const all = [node('c'), node('a', { power: 'power on' }), node('b')];
    expect(names({}, all)).toEqual(['b', 'c', 'a']);
  });

  it.each([
    ['no node is enrolled', []],
    ['resource class baremetal 0 of 1', [node('a', { resource_class: 'gpu' })]],
    ['not in maintenance 0 of 1', [node('a', { maintenance: true })]],
    ['without a fault 0 of 1', [node('a', { fault: 'power failure' })]],
    [
      'in the state available 0 of 3 (2 active, 1 cleaning)',
      [node('a', { state: 'active' }), node('b', { state: 'active' }), node('c', { state: 'cleaning' })],
    ],
    ['unclaimed 0 of 1', [node('a', { instance_id: 'i' })]],
    ['with known power 0 of 1', [node('a', { power: null })]],
  ])('names the filter that excludes every node: %s', (expected, all) => {
    expect(why({}, all)).toContain(expected);
  });

  it('requires all traits', () => {
    const all = [node('a', { traits: ['CUSTOM_A'] }), node('b', { traits: ['CUSTOM_A', 'CUSTOM_B'] })];
    expect(names({ traits: ['CUSTOM_A', 'CUSTOM_B'] }, all)).toEqual(['b']);
    expect(why({ traits: ['CUSTOM_C'] }, all)).toContain('trait CUSTOM_C 0 of 2');
  });

  it('requires all capabilities in map and text form, and accepts a node by name, id or capability', () => {
    const all = [
      node('a', { properties: { capabilities: 'profile:control,node:controller-0' } }),
      node('b', { properties: { capabilities: { profile: 'compute', node: 'compute-0', slot: 3 } } }),
    ];
    expect(names({ capabilities: { profile: 'control', node: 'controller-0' } }, all)).toEqual(['a']);
    expect(names({ capabilities: { slot: '3' } }, all)).toEqual(['b']);
    for (const wanted of ['b', 'id-b', 'compute-0']) expect(names({ node: wanted }, all)).toEqual(['b']);
  });

  it('lists every condition with the number of nodes that meet it', () => {
    const all = [
      node('a', { properties: { capabilities: 'profile:control' }, state: 'active' }),
      node('b', { traits: ['CUSTOM_A'] }),
    ];
    expect(why({ capabilities: { profile: 'control' }, traits: ['CUSTOM_A'], node: 'z' }, all)).toBe(
      'none of 2 nodes fits: resource class baremetal 2 of 2, trait CUSTOM_A 1 of 2, capability profile:control 1 of 2, ' +
        'node z 0 of 2, in the state available 1 of 2 (1 active)',
    );
  });
});
