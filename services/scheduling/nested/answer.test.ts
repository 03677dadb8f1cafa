import { describe, expect, it } from 'vitest';
import { newStack, targetOf } from '@anneal/convergence/simulation/model.ts';
import { emptyPlan } from '@anneal/convergence/state.ts';
import { createSecrets } from '@anneal/runtime/secrets.ts';
import { createEvaluation } from '../evaluation.ts';
import { type Answer, responseTo } from './answer.ts';

const secrets = createSecrets([new Uint8Array(32)]);
const evaluation = createEvaluation({ secrets, typeOf: () => undefined });
const parent = {
  stack_id: 's',
  resource_id: 'n',
  resource_name: 'n',
  action: 'update' as const,
  fence: 2,
  deadline: '2030-01-01T00:00:00.000Z',
};
const leaf = { resource: 'x', type: 'Test', failure: { code: 'ResourceFailed', message: 'no' } };
const answer = (failure: Answer['failure']): ReturnType<typeof responseTo> =>
  responseTo({
    effect: { kind: 'answer', parent, status: 'failed', failure },
    stack: { ...newStack('n', { target: targetOf('1') }), failures: [leaf] },
    plan: emptyPlan(),
    resources: [],
    evaluation,
    secrets,
  });

describe('the answer of a nested stack', () => {
  it('names the leaves that failed in it', () => {
    expect(answer(null)).toMatchObject({ status: 'failed', failures: [leaf] });
  });

  it('tells a refusal as it is, without what failed before', () => {
    const refusal = { code: 'NotSupported', message: 'Updating a stack when it is suspended is not supported.' };
    expect(answer(refusal)).toMatchObject({ status: 'failed', error: refusal });
    expect(answer(refusal)).not.toHaveProperty('failures');
  });
});
