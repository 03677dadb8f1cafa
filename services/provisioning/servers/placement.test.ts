import { describe, expect, it } from 'vitest';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import type { PlaceRule } from '../nodes/slots/place-rule.ts';
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
  retired: false,
  lessee: null,
  origin: null,
  driver: 'redfish',
  ...change,
});
const flavors = { 'm1.small': 'baremetal' };
const placed = (wish: Partial<PlacementRequest>, all: readonly CandidateNode[]) =>
  place(
    {
      project: 'p1',
      flavor: 'baremetal',
      zone: '',
      root: null,
      traits: [],
      capabilities: {},
      node: undefined,
      ...wish,
    },
    { all, flavors },
  );
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

  it('leaves out machines whose disks are too small for the image, and keeps those whose disks are not known', () => {
    const image = { name: 'large', size: 40 * 2 ** 30 };
    const disks = (...sizes: (number | null)[]) => ({
      properties: { disks: sizes.map((size) => ({ size_bytes: size === null ? null : size * 2 ** 30 })) },
    });
    const small = node('small', disks(10, 20));
    const all = [small, node('raid', disks(20, 20)), node('unknown'), node('half-known', disks(10, null))];
    expect(names({ image }, all)).toEqual(['half-known', 'raid', 'unknown']);
    expect(names({}, [small])).toEqual(['small']);
    expect(why({ image }, [small])).toBe(
      'none of 1 node fits: resource class baremetal 1 of 1, with disks for the 40.0 GiB of image large 0 of 1',
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

  const at = (name: string, rack: string, change: Partial<CandidateNode> & { power_domain?: string } = {}) => {
    const { power_domain, ...rest } = change;
    return node(name, { properties: { rack, ...(power_domain !== undefined && { power_domain }) }, ...rest });
  };
  const used = (stack_id: string): Partial<CandidateNode> => ({
    state: 'active',
    instance_id: 'i',
    origin: { ...unknownOrigin(), root: { stack_id, stack_name: 's' } },
  });

  it('keeps to the availability zone; nodes without one are in the zone nova', () => {
    const all = [node('a'), node('b', { properties: { availability_zone: 'east' } })];
    expect(names({ zone: '' }, all)).toEqual(['a', 'b']);
    expect(names({ zone: 'nova' }, all)).toEqual(['a']);
    expect(names({ zone: 'east' }, all)).toEqual(['b']);
    expect(why({ zone: 'west' }, all)).toContain('availability zone west 0 of 2');
  });

  it('spreads the servers of one stack over racks, then power domains, then prefers empty racks', () => {
    const all = [
      at('a1', 'a', used('s1')),
      at('a2', 'a'),
      at('b1', 'b', used('s2')),
      at('b2', 'b', { power: 'power on' }),
      at('c1', 'c', { power_domain: 'left' }),
      at('c2', 'c', { power_domain: 'right' }),
    ];
    expect(names({ root: 's1' }, all)).toEqual(['c1', 'c2', 'b2', 'a2']);
    const left = { ...at('d1', 'd', { power_domain: 'left' }), ...used('s1') };
    expect(names({ root: 's1' }, [...all, left]).slice(0, 2)).toEqual(['c2', 'b2']);
    // Another stack prefers racks with few servers.
    expect(names({ root: 's3' }, all).slice(0, 2)).toEqual(['c1', 'c2']);
  });

  const rule = (policy: PlaceRule['policy'], others: string[], change: Partial<PlaceRule> = {}) => ({
    rule: { name: 'g', policy, domain: 'rack', most: 1, others, ...change } as const,
  });
  const racks = [at('a1', 'a'), at('a2', 'a'), at('b1', 'b'), node('alone')];

  it('anti-affinity gives each server of a group a rack of its own, or at most so many in one', () => {
    expect(names(rule('anti-affinity', ['a']), racks)).toEqual(['alone', 'b1']);
    expect(names(rule('anti-affinity', ['a'], { most: 2 }), racks)).toEqual(['alone', 'b1', 'a1', 'a2']);
    expect(names(rule('anti-affinity', ['a', 'a'], { most: 2 }), racks)).toEqual(['alone', 'b1']);
    expect(why(rule('anti-affinity', ['a', 'b', 'node id-alone']), racks)).toBe(
      'none of 4 nodes fits: resource class baremetal 4 of 4, server group g (anti-affinity, at most 1 in one rack, used: a, b, node id-alone) 0 of 4',
    );
  });

  it('affinity keeps the servers of a group in one rack, and begins in the rack with most room', () => {
    expect(names(rule('affinity', []), [...racks.slice(2), ...racks.slice(0, 2)])[0]).toBe('a1');
    expect(names(rule('affinity', ['b']), racks)).toEqual(['b1']);
    expect(why(rule('affinity', ['z']), racks)).toContain('server group g (affinity, all in one rack: z) 0 of 4');
  });

  it('soft policies order the nodes, and exclude none', () => {
    expect(names(rule('soft-anti-affinity', ['a', 'a', 'b']), racks)).toEqual(['alone', 'b1', 'a1', 'a2']);
    expect(names(rule('soft-affinity', ['b']), racks)).toEqual(['b1', 'a1', 'a2', 'alone']);
  });

  it('counts what the group names: power domains, zones or nodes', () => {
    const all = [
      node('a', { properties: { rack: 'r', power_domain: 'x' } }),
      node('b', { properties: { rack: 'r', power_domain: 'y' } }),
    ];
    expect(names(rule('anti-affinity', ['x'], { domain: 'power_domain' }), all)).toEqual(['b']);
    expect(names(rule('anti-affinity', ['nova'], { domain: 'availability_zone' }), all)).toEqual([]);
    expect(names(rule('anti-affinity', ['node id-a'], { domain: 'node' }), all)).toEqual(['b']);
  });

  it('does not give a server a node again on which it failed', () => {
    expect(names({ tried: ['id-a1'] }, racks)).toEqual(['a2', 'alone', 'b1']);
    expect(why({ tried: ['id-a1'] }, racks.slice(0, 1))).toContain('not tried before by this server 0 of 1');
  });
});
