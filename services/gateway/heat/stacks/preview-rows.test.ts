import type { PlannedChange } from '@anneal/contracts/calls/previews.ts';
import type { ResourceView } from '@anneal/contracts/calls/resources.ts';
import { describe, expect, it } from 'vitest';
import { byPath, nestedRows, previewList, previewRow } from './preview-rows.ts';

const stack = { id: 's1', name: 'shop', project: 'p' };
const change = (resource: string, more: Partial<PlannedChange> = {}): PlannedChange => ({
  resource,
  type: 'OS::Heat::Value',
  change: 'create',
  properties: [],
  step: 1,
  ...more,
});
const view = (name: string, more: Partial<ResourceView> = {}): ResourceView => ({
  id: `${name}-id`,
  name,
  type: 'OS::Heat::Value',
  stack_id: 's1',
  stack_name: 'shop',
  action: 'CREATE',
  status: 'COMPLETE',
  reason: 'state changed',
  physical_id: `${name}-physical`,
  requires: [],
  required_by: [],
  created_at: '2026-11-21T12:34:01.250Z',
  updated_at: '2026-11-21T12:34:02.250Z',
  started_at: null,
  finished_at: null,
  description: '',
  version: 1,
  conditions: [],
  ...more,
});

describe('a row of a preview', () => {
  it('contains its stack, its path and the state of an existing resource', () => {
    const there = byPath(stack, [
      view('g', { nested_stack: { id: 's2', name: 'shop-g' }, required_by: ['b'] }),
      view('0', { stack_id: 's2', stack_name: 'shop-g', action: 'UPDATE' }),
    ]);
    const inside = { tenant: 'p', stack_name: 'shop-g', stack_id: 's2' };
    expect(previewRow(change('g.resources.0', { change: 'update' }), { stack, there })).toMatchObject({
      resource_name: '0',
      parent_resource: 'g',
      resource_action: 'UPDATE',
      physical_resource_id: '0-physical',
      creation_time: '2026-11-21T12:34:01Z',
      resource_identity: { ...inside, path: '/resources/0' },
      stack_identity: { ...inside, path: '' },
      stack_name: 'shop-g',
    });
    expect(previewRow(change('g', { change: 'update' }), { stack, there })).toMatchObject({
      nested_stack_id: { ...inside, path: '' },
      resource_identity: { tenant: 'p', stack_name: 'shop', stack_id: 's1', path: '/resources/g' },
      required_by: ['b'],
    });
    expect(previewRow(change('g.resources.1'), { stack, there })).toMatchObject({
      resource_action: 'INIT',
      physical_resource_id: '',
      creation_time: null,
      stack_name: 'shop-g',
    });
  });

  it('of a new nested stack is in the list of its parent, with its properties', () => {
    const after = [{ property: 'value', after: 1, known: true, replaces: false }];
    const changes = [change('a', { properties: after, required_by: ['g'] }), change('g'), change('g.resources.0')];
    expect(nestedRows(changes, stack, new Map([['OS::Heat::Value', { attributes: { value: {} } }]]))).toMatchObject([
      { resource_name: 'a', properties: { value: 1 }, attributes: { value: null }, required_by: ['g'] },
      [{ resource_name: '0', stack_name: 'shop-g', required_by: [] }],
    ]);
  });

  it('is in the list of updated ones for a nested stack, which every update reaches', () => {
    const there = byPath(stack, [view('g', { nested_stack: { id: 's2', name: 'shop-g' } }), view('a')]);
    const unchanged = (name: string) => change(name, { change: 'unchanged' });
    expect(previewList(unchanged('g'), there)).toBe('updated');
    expect(previewList(unchanged('a'), there)).toBe('unchanged');
    expect(previewList(change('g', { change: 'maybe replace' }), there)).toBe('replaced');
  });
});
