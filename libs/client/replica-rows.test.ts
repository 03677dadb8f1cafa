import { describe, expect, it } from 'vitest';
import { rangesText, remarksOn, serviceReplicas } from './replica-rows.ts';
import { serviceRowSchema, type ReplicaRow } from './representation.ts';

const replica = (id: string, more: Partial<ReplicaRow> = {}): ReplicaRow => ({
  id,
  machine: 'box',
  pid: 1,
  version: '1.0.0',
  status: 'ready',
  reason: '',
  started_at: '2026-01-01T00:00:00Z',
  heard_at: '2026-01-01T00:00:00Z',
  shards: [],
  ...more,
});
const service = (name: string, more: object = {}) => serviceRowSchema.parse({ name, status: 'up', ...more });

describe('the rows of services', () => {
  it('are one for each replica, and one for a service without any, as an earlier server answers', () => {
    const rows = serviceReplicas([
      service('scheduling', { replicas: [replica('a'), replica('b', { status: 'silent' })] }),
      service('gateway'),
    ]);
    expect(
      rows.map(({ service: { name }, replica: one, status, isFirst }) => [name, one?.id, status, isFirst]),
    ).toEqual([
      ['scheduling', 'a', 'ready', true],
      ['scheduling', 'b', 'silent', false],
      ['gateway', undefined, 'up', true],
    ]);
  });
});

describe('the remarks on services', () => {
  it('name two versions that run, and not the version of a replica that has died', () => {
    const both = [replica('a', { version: '1.10.0' }), replica('b', { version: '1.9.0' })];
    expect(remarksOn([service('scheduling', { replicas: both })]).join()).toContain('Versions 1.9.0 and 1.10.0');
    const dead = [replica('a', { status: 'silent' }), replica('b', { version: '1.1.0' })];
    expect(remarksOn([service('scheduling', { replicas: dead })])).toEqual([]);
  });

  it('name consumers that show no sign of life', () => {
    const both = ['templating', 'scheduling'].map((name) => service(name, { replicas: [replica('a')], unreported: 1 }));
    expect(remarksOn([service('gateway', { replicas: [replica('a')] }), ...both])).toEqual([
      'Processes that send no report, as an earlier version does, take requests of templating, scheduling. Finish the upgrade: replace them.',
    ]);
  });
});

describe('numbers as ranges', () => {
  it.each([
    [[], ''],
    [[4], '4'],
    [[3, 0, 1, 2, 7], '0-3, 7'],
    [[10, 2, 9], '2, 9-10'],
  ])('%j is "%s"', (numbers, text) => {
    expect(rangesText(numbers)).toBe(text);
  });
});
