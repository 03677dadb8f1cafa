import { expect, it } from 'vitest';
import { hasMissed } from './end.ts';

const failures = [{ resource: 'r', type: 'T', failure: { code: 'ResourceFailed', message: 'It failed.' } }];

it('an action is missed when the stack failed, was rolled back because of a failure, or was deleted by another actor', () => {
  const cases: [status: string, wanted: string, missed: boolean][] = [
    ['CREATE_COMPLETE', 'CREATE', false],
    ['UPDATE_FAILED', 'UPDATE', true],
    ['ROLLBACK_FAILED', 'ROLLBACK', true],
    ['ROLLBACK_COMPLETE', 'CREATE', true],
    ['ROLLBACK_COMPLETE', 'UPDATE', true],
    ['ROLLBACK_COMPLETE', 'ROLLBACK', false],
    ['DELETE_COMPLETE', 'DELETE', false],
    ['DELETE_COMPLETE', 'UPDATE', true],
    ['UPDATE_COMPLETE', 'CREATE', false],
  ];
  for (const [status, wanted, missed] of cases)
    expect(hasMissed({ stack_status: status, failures: [] }, wanted), `${status} of ${wanted}`).toBe(missed);
});

it('a rollback that a failure began is missed, also by a command that saw only the rollback', () => {
  expect(hasMissed({ stack_status: 'ROLLBACK_COMPLETE', failures }, 'ROLLBACK')).toBe(true);
});
