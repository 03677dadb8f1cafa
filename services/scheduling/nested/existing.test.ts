import { expect, it } from 'vitest';
import type { ResourceDocument } from '@anneal/convergence/documents.ts';
import { existingIn } from './existing.ts';

const member = (id: string, more: Partial<ResourceDocument>): ResourceDocument =>
  ({
    id,
    name: '0',
    action: 'CREATE',
    status: 'COMPLETE',
    created_at: '2026-01-01T00:00:00.000Z',
    finished_at: '2026-01-01T00:00:01.000Z',
    replaced_by: null,
    ...more,
  }) as unknown as ResourceDocument;

it('a member that is being replaced is in the group once, in whatever order the store returns its incarnations', () => {
  const all = [
    member('original', { replaced_by: 'replacement' }),
    member('replacement', { status: 'FAILED', created_at: '2026-01-02T00:00:00.000Z' }),
    member('old', { action: 'DELETE', created_at: '2026-01-03T00:00:00.000Z' }),
    member('another', { name: '1' }),
    member('gone', { name: '2', action: 'DELETE' }),
  ];
  const found = existingIn(all, ({ id }) => id);
  expect(found.map(({ name, reference, failed }) => [name, reference, failed])).toEqual([
    ['0', 'replacement', true],
    ['1', 'another', false],
  ]);
  expect(existingIn(all.toReversed(), ({ id }) => id).toReversed()).toEqual(found);
});
