import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { expect, it } from 'vitest';
import { endedAfter, outcomeOfCommand } from './run-outcome.ts';

const since = '2030-01-01T00:00:00.000Z';
const ended = (
  host_name: string,
  answer_state: NonNullable<DeploymentView['answer_state']>,
  more: Partial<DeploymentView> = {},
) =>
  ({
    id: `d-${host_name}`,
    host_name,
    answer_state,
    status_code: null,
    stdout: '',
    stderr: '',
    reason: '',
    ...more,
  }) as DeploymentView;
const host = (name: string, unexpected_answers: object[] = []) => ({ name, unexpected_answers }) as HostView;
const report = (kind: string, more: object = {}) => ({
  kind,
  reason: 'why',
  deployment_id: null,
  last_at: since,
  ...more,
});

it('equal answers are one group, the largest first; a missing answer has a cause', () => {
  const outcome = outcomeOfCommand(
    [
      ended('c', 'failed', { status_code: 1, stderr: 'no' }),
      ended('b', 'answered', { status_code: 0, stdout: 'up' }),
      ended('a', 'answered', { status_code: 0, stdout: 'up' }),
      ended('slow', 'started'),
      ended('off', 'never polled'),
      ended('lost', 'polled before'),
      ended('odd', 'refused', { reason: 'no number' }),
    ],
    {
      since,
      hosts: [
        host('off', [report('late', { deployment_id: 'd-off' })]),
        host('other', [report('foreign'), report('unknown', { last_at: '2029-12-31T00:00:00.000Z' })]),
        host('a', [report('contradicting', { deployment_id: 'of another command' })]),
      ],
    },
  );
  expect(outcome).toEqual({
    groups: [
      { status_code: 0, stdout: 'up', stderr: '', hosts: ['a', 'b'] },
      { status_code: 1, stdout: '', stderr: 'no', hosts: ['c'] },
    ],
    answered: ['a', 'b', 'c'],
    late: ['slow', 'off'],
    silent: [
      { host: 'off', state: 'never polled' },
      { host: 'lost', state: 'polled before' },
    ],
    unexpected: [
      { host: 'odd', kind: 'refused', reason: 'no number' },
      { host: 'other', kind: 'foreign', reason: 'why' },
    ],
    ok: false,
  });
});

it('news of a run are asked for from some seconds before the latest end', () => {
  expect(endedAfter([], 1)).toBeUndefined();
  expect(endedAfter([{ finished_at: null }], 1)).toBeUndefined();
  const times = ['2030-01-01T00:00:07.000Z', null, '2030-01-01T00:00:09.000Z', '2030-01-01T00:00:08.000Z'];
  const known = times.map((finished_at) => ({ finished_at }));
  expect(endedAfter(known, 1)).toBe('2030-01-01T00:00:04.000Z');
  // A host whose clock is behind would never be in the news.
  expect([9, 10, 11].map((asked) => endedAfter(known, asked) === undefined)).toEqual([false, true, false]);
});
