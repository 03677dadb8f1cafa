import { expect, it } from 'vitest';
import type { DeploymentState, HostDocument } from '../../collections.ts';
import { answerStateOf } from './answer-state.ts';

const state = (more: Partial<DeploymentState> = {}) =>
  ({
    status: 'IN_PROGRESS',
    request: {},
    status_code: null,
    started_at: null,
    queued_at: '2030-01-01T00:00:10.000Z',
    failure: null,
    ...more,
  }) as DeploymentState;
const seen = (last_seen_at: string | null) => ({ last_seen_at }) as HostDocument;

it.each([
  ['never polled', state(), undefined],
  ['never polled', state(), seen(null)],
  ['polled before', state(), seen('2030-01-01T00:00:09.000Z')],
  ['not taken', state(), seen('2030-01-01T00:00:11.000Z')],
  ['started', state({ started_at: '2030-01-01T00:00:12.000Z' }), seen('2030-01-01T00:00:12.000Z')],
  ['started', state({ collected: true }), seen('2030-01-01T00:00:12.000Z')],
  ['answered', state({ status: 'COMPLETE', status_code: 0 }), undefined],
  ['failed', state({ status: 'FAILED', status_code: 3 }), undefined],
  ['refused', state({ status: 'FAILED', failure: { code: 'InvalidMessage', message: '' } }), undefined],
  ['polled before', state({ status: 'FAILED', no_answer: 'polled before' }), seen('2030-01-02T00:00:00.000Z')],
  ['none', state({ status: 'SKIPPED' }), undefined],
] as const)('a run is in the state "%s" (%#)', (expected, deployment, host) => {
  expect(answerStateOf(deployment, { host })).toBe(expected);
});
