import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRig, project, type Rig } from '../testing/running-service.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
  for (let at = 0; at < 8; at += 1) await rig.ask(queueCalls.queueCreate, { project, queue: `q${at}` });
  await post('q2', 3);
  await post('q5', 5);
  await post('q6', 3);
  await rig.ask(queueCalls.queueClaim, { project, queue: 'q5', ttl: 60, grace: 60, limit: 4 });
});
afterEach(() => rig.dispose());

const post = (queue: string, count: number) =>
  rig.ask(queueCalls.queuePost, {
    project,
    queue,
    client_id: 'me',
    messages: Array.from({ length: count }, (_, body) => ({ ttl: 300, body })),
  });
const page = async (more: object) => {
  const { queues, ...counts } = await rig.ask(queueCalls.queueList, { project, page: { limit: 3, ...more } });
  return { ...counts, names: queues.map(({ name, free }) => `${name}: ${free}`) };
};

it('orders the queues by their messages, equal ones by name, and counts all of them', async () => {
  expect(await page({ sort: 'depth', descending: true })).toEqual({
    total: 8,
    found: 8,
    names: ['q2: 3', 'q6: 3', 'q5: 1'],
  });
  expect((await page({ sort: 'in_flight', descending: true, limit: 1 })).names).toEqual(['q5: 1']);
  expect((await page({ sort: 'depth', offset: 5 })).names).toEqual(['q5: 1', 'q2: 3', 'q6: 3']);
  expect((await page({ sort: 'oldest', offset: 0 })).names).toEqual(['q0: 0', 'q1: 0', 'q3: 0']);
});

it('finds queues by words in the order of names, and refuses a column that they do not have', async () => {
  expect(await page({ find: 'USER q6' })).toEqual({ total: 8, found: 1, names: ['q6: 3'] });
  expect((await page({ offset: 2 })).names).toEqual(['q2: 3', 'q3: 0', 'q4: 0']);
  await expect(page({ sort: 'weight' })).rejects.toThrow('there is no column weight');
});
