import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Draft } from '@anneal/store/port.ts';
import { openConfigurationCollections, type ConfigurationCollections, type MessageDocument } from '../collections.ts';
import { createRig, project, type Rig } from '../testing/running-service.ts';
import { keptAnswers, trimAnswers } from './trim.ts';

let rig: Rig;
let collections: ConfigurationCollections;
beforeEach(async () => {
  rig = await createRig();
  collections = await openConfigurationCollections(rig.context.store);
});
afterEach(() => rig.dispose());

const answer = (
  sequence: number,
  { handled = true, queue = 'q' }: { handled?: boolean; queue?: string } = {},
): Draft<MessageDocument> => ({
  id: `m${sequence}`,
  queue,
  sequence,
  body: {},
  client_id: 'c',
  ttl: 600,
  created_at: 0,
  expires_at: 1e15,
  claim_id: null,
  claim_client: null,
  claimed_at: 0,
  claim_expires_at: 0,
  claim_ttl: 0,
  claim_count: 0,
  handled,
  bytes_before: sequence * 1000,
});
const store = (documents: ReturnType<typeof answer>[]) =>
  collections.messages.bulk(documents.map((document) => ({ kind: 'insert', document })));
const left = async (): Promise<number[]> =>
  (await collections.messages.find({ where: { queue: 'q' }, orderBy: ['sequence'] })).map(({ sequence }) => sequence);
const from = (first: number, end: number): number[] => Array.from({ length: end - first }, (_, index) => first + index);

it('keeps the latest answers of a host by number and by bytes, and those that were not processed', async () => {
  const documents = from(0, 300).map((sequence) => answer(sequence, { handled: sequence !== 7 }));
  await store(documents);
  const last = { ...answer(512), version: 1 };
  await trimAnswers(collections, [{ ...last, sequence: 511 }], { messages: 300, bytes: 1e9 });
  expect(await left()).toHaveLength(300);
  await trimAnswers(collections, [last], { messages: 300, bytes: 1e9 });
  expect(await left()).toEqual([7, ...from(213, 300)]);
  await trimAnswers(collections, [last], { messages: 1e9, bytes: 262_000 });
  expect(await left()).toEqual([7, ...from(250, 300)]);
});

it('a host that answers removes its old answers', async () => {
  const { id } = await rig.host('web');
  const { queues, messages } = collections;
  const [queue] = await queues.find({ where: { project, name: `host.${id}.responses` } });
  if (!queue) throw new Error('The queue is missing.');
  await store(from(0, 10).map((sequence) => answer(sequence, { queue: queue.id })));
  await queues.replace({ ...queue, next: keptAnswers.messages + 240, bytes: 1000 }, queue.version);
  expect((keptAnswers.messages + 240) % 256).toBe(0);
  await rig.post(id, { id: 'unknown', status_code: 0 });
  const found = await messages.find({ where: { queue: queue.id } });
  expect(found.map(({ body }) => body)).toMatchObject([{ id: 'unknown' }]);
});
