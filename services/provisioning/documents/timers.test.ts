import { expect, it } from 'vitest';
import { provisioningTimers } from './timers.ts';

it.each([
  [{ kind: 'node', node: 'n' } as const, 'node:n', { node: 'n' }],
  [{ kind: 'server', server: 's' } as const, 'server:s', { server: 's' }],
])('%j has the id of release 0.1.0, and is read from what it stored', (timer, id, earlier) => {
  expect(provisioningTimers.at(timer, 5)).toEqual({ id, dueAt: 5, data: timer });
  expect(provisioningTimers.read({ id, dueAt: 5, data: timer })).toEqual(timer);
  expect(provisioningTimers.read({ id, dueAt: 5, data: earlier })).toEqual(timer);
});

it('refuses a timer of neither', () => {
  expect(() => provisioningTimers.read({ id: 'x', dueAt: 5, data: null })).toThrow('Cannot fire timer x');
});
