import type { StackDocument } from '@anneal/convergence/documents.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSchedulingCollections, type SchedulingCollections } from '../collections.ts';
import { groupPage } from './group-list.ts';

let store: Store;
let stacks: SchedulingCollections['stacks'];
beforeEach(async () => {
  store = await openStore({ url: 'sqlite::memory:' });
  ({ stacks } = await openSchedulingCollections(store));
});
afterEach(() => store.close());

/** The part of a stack that the list reads. */
async function insert(id: string, project: string, more: { type?: string; deleted_at?: string } = {}): Promise<void> {
  const { type = 'OS::Heat::AutoScalingGroup', deleted_at = null } = more;
  const group = type === '' ? null : { type };
  await stacks.insert({ id, live_name: id, project, deleted_at, group } as unknown as StackDocument);
}
const page = async (question: { limit?: number; marker?: string; all_projects?: boolean } = {}) =>
  (await groupPage(stacks, { project: 'p1', ...question })).map(({ id }) => id);

it('lists the live groups of each type that scales, of one project or of all, in pages', async () => {
  await insert('3', 'p1');
  await insert('1', 'p1', { type: 'Anneal::Scaling::Group' });
  await insert('2', 'p1', { type: 'OS::Heat::InstanceGroup' });
  await insert('0', 'p2');
  await insert('4', 'p2', { type: 'AWS::AutoScaling::AutoScalingGroup' });
  await insert('5', 'p1', { type: 'OS::Heat::ResourceGroup' });
  await insert('6', 'p1', { type: '' });
  await insert('7', 'p1', { deleted_at: '2026-01-01T00:00:00.000Z' });
  const lists = { p1: ['1', '2', '3'], all: ['1', '2', '3', '0', '4'] };
  expect([await page(), await page({ all_projects: true })]).toEqual([lists.p1, lists.all]);
  for (const [given, expected] of [
    [{}, lists.p1],
    [{ all_projects: true }, lists.all],
  ] as const) {
    for (const [at, marker] of expected.entries()) {
      expect(await page({ ...given, marker, limit: 1 })).toEqual(expected.slice(at + 1, at + 2));
    }
  }
});
