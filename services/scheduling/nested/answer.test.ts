import { describe, expect, it } from 'vitest';
import { newSimulatedStack, simulatedTarget } from '@anneal/convergence/simulation/model.ts';
import type { ResourceDocument } from '@anneal/convergence/documents.ts';
import { emptyPlan } from '@anneal/convergence/state.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { createEvaluation } from '../engine/evaluation.ts';
import { type NestedAnswer, nestedResponse } from './answer.ts';
import { defaultEvaluation } from '@anneal/hot/limits.ts';

const secrets = createSecrets([new Uint8Array(32)]);
const limit = { bytes: 2000, setting: 'LIMIT' };
const sizes = { value: limit, resource: limit, stack: limit };
const evaluation = createEvaluation({ secrets, typeOf: () => undefined, sizes, limits: defaultEvaluation });
const parent = {
  stack_id: 's',
  resource_id: 'n',
  resource_name: 'n',
  action: 'update' as const,
  fence: 2,
  deadline: '2030-01-01T00:00:00.000Z',
};
const leaf = { resource: 'x', type: 'Test', failure: { code: 'ResourceFailed', message: 'no' } };
const answer = (failure: NestedAnswer['failure']): ReturnType<typeof nestedResponse> =>
  nestedResponse({
    effect: { kind: 'answer', parent, status: 'failed', failure },
    stack: { ...newSimulatedStack('n', { target: simulatedTarget('1') }), failures: [leaf] },
    plan: emptyPlan(),
    resources: [],
    evaluation,
    secrets,
  });

describe('the answer of a nested stack', () => {
  it('names its failed resources', () => {
    expect(answer(null)).toMatchObject({ status: 'failed', failures: [leaf] });
  });

  it('fails with the limit when its outputs are too large, but its deletion completes', () => {
    const attributes = { value: 'x'.repeat(1500) };
    const member = (name: string): ResourceDocument =>
      ({
        id: name,
        name,
        type: 'Test',
        action: 'CREATE',
        status: 'COMPLETE',
        attributes,
      }) as unknown as ResourceDocument;
    const group = {
      kind: 'group',
      type: 'OS::Heat::ResourceGroup',
      reads: [['value']],
      members: { names: ['0', '1'], skipped: [] },
    };
    const respond = (action: 'update' | 'delete') =>
      nestedResponse({
        effect: { kind: 'answer', parent: { ...parent, action }, status: 'complete', failure: null },
        stack: { ...newSimulatedStack('n', { target: simulatedTarget('1') }), parent, group },
        plan: emptyPlan(),
        resources: [member('0'), member('1')],
        evaluation,
        secrets,
      });
    expect(respond('update')).toMatchObject({ status: 'failed', error: { code: 'TooLarge' } });
    expect(respond('update').error?.message).toMatch(/LIMIT/);
    expect(respond('delete').status).toBe('complete');
  });

  it('reports a refusal unchanged, without earlier failures', () => {
    const refusal = { code: 'NotSupported', message: 'Updating a stack when it is suspended is not supported.' };
    expect(answer(refusal)).toMatchObject({ status: 'failed', error: refusal });
    expect(answer(refusal)).not.toHaveProperty('failures');
  });
});
