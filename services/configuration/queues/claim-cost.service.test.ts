/** The reads and writes of a claim. They limit how many steps of hosts a server makes in a second. */
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import { createTestContext, notingStore, type TestContext } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRig, project, type Rig } from '../testing/running-service.ts';

interface Call {
  readonly method: string;
  readonly given: readonly unknown[];
}

/** Those of the collection of messages. */
const calls: Call[] = [];
let context: TestContext;
let rig: Rig;
let host: string;
beforeAll(async () => {
  context = await createTestContext({ name: 'configuration' });
  const store = notingStore(context.store, ({ collection, ...call }) => {
    if (collection === 'configuration_messages') calls.push(call);
  });
  rig = await createRig({ store });
  ({ id: host } = await rig.host('web'));
});
afterAll(async () => {
  await rig?.dispose();
  await context?.dispose();
});

const claim = (more: Partial<queueCalls.QueueClaim> = {}) => {
  calls.length = 0;
  const queue = `host.${host}.requests`;
  return rig.ask(queueCalls.queueClaim, { project, queue, ttl: 60, grace: 60, client_id: 'agent', batch: 10, ...more });
};
const looks = (): Call[] =>
  calls.filter(({ method, given }) => method === 'find' && JSON.stringify(given).includes(`host.${host}.requests`));

it('of one request writes it once, and of the answer looks once at the queue that it has emptied', async () => {
  const properties = { hosted_on: host, script: 'true' };
  const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', properties });
  await rig.event('deployment.queued', resource.id);
  const { messages } = await claim();
  expect(messages).toHaveLength(1);
  const empty = calls.filter(({ method, given }) => method === 'bulk' && JSON.stringify(given) === '[[]]');
  expect(empty).toEqual([]);
  const answer = { id: messages[0]?.id ?? '', status_code: 0 };
  const next = await claim({ answers: [{ body: answer, ttl: 600 }] });
  expect([next.answered, next.messages]).toEqual([true, []]);
  expect(looks()).toHaveLength(1);
  expect((await rig.final(resource.id)).status).toBe('complete');
});
