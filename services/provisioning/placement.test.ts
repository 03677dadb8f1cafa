import { describe, expect, it } from 'vitest';
import { place, type Candidate } from './placement.ts';

const node = (name: string, change: Partial<Candidate> = {}): Candidate => ({
  id: name,
  name,
  state: 'available',
  resource_class: 'baremetal',
  traits: [],
  power: 'power off',
  maintenance: false,
  fault: null,
  instance_id: null,
  work: null,
  ...change,
});
const names = (nodes: readonly Candidate[]): string[] => nodes.map(({ name }) => name);
const why = (placement: ReturnType<typeof place>): string => ('why' in placement ? placement.why : '');

describe('placement', () => {
  it('any flavor fits baremetal, unless there are nodes of a class with its name: then only those', () => {
    const all = [node('a'), node('b', { resource_class: 'gpu' })];
    expect(names(place({ flavor: 'm1.small', traits: [] }, all).nodes)).toEqual(['a']);
    expect(names(place({ flavor: 'gpu', traits: [] }, all).nodes)).toEqual(['b']);
  });

  it('prefers machines that are off, then goes by name', () => {
    const all = [node('c'), node('a', { power: 'power on' }), node('b')];
    expect(names(place({ flavor: 'x', traits: [] }, all).nodes)).toEqual(['b', 'c', 'a']);
  });

  it.each([
    ['no node is enrolled', []],
    ['of resource class baremetal', [node('a', { resource_class: 'gpu' })]],
    ['out of maintenance', [node('a', { maintenance: true })]],
    ['without a fault', [node('a', { fault: 'power failure' })]],
    [
      'in the state available (2 active, 1 cleaning)',
      [node('a', { state: 'active' }), node('b', { state: 'active' }), node('c', { state: 'cleaning' })],
    ],
    ['unclaimed', [node('a', { instance_id: 'i' })]],
    ['whose power is known', [node('a', { power: null })]],
  ])('says which filter left nothing: %s', (expected, all) => {
    expect(why(place({ flavor: 'm1', traits: [] }, all))).toContain(expected);
  });

  it('wants all traits', () => {
    const all = [node('a', { traits: ['CUSTOM_A'] }), node('b', { traits: ['CUSTOM_A', 'CUSTOM_B'] })];
    expect(names(place({ flavor: 'm1', traits: ['CUSTOM_A', 'CUSTOM_B'] }, all).nodes)).toEqual(['b']);
    expect(why(place({ flavor: 'm1', traits: ['CUSTOM_C'] }, all))).toContain('with the traits CUSTOM_C');
  });
});
