import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRig, project, type Rig } from '../testing/running-service.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const queue = 'later';
const post = (...messages: { body: number; delay?: number }[]) =>
  rig.ask(queueCalls.queuePost, {
    project,
    queue,
    client_id: 'me',
    messages: messages.map((message) => ({ ttl: 300, ...message })),
  });
const list = async (more: { include_delayed?: boolean } = {}) => {
  const question = { project, queue, include_claimed: true, echo: true, client_id: 'me', ...more };
  return (await rig.ask(queueCalls.queueMessages, question)).messages.map(({ body }) => body);
};
const claim = async () =>
  (await rig.ask(queueCalls.queueClaim, { project, queue, ttl: 60, grace: 60 })).messages.map(({ body }) => body);

describe('Q4: a delayed message', () => {
  it('is listed, claimed and popped only after its delay, and does not delay those behind it', async () => {
    await post({ body: 1, delay: 1 }, { body: 2, delay: 900 }, { body: 3 });
    expect(await list()).toEqual([3]);
    expect(await list({ include_delayed: true })).toEqual([1, 2, 3]);
    expect(await claim()).toEqual([3]);
    const first = await eventually(async () => {
      const found = await claim();
      return found.length > 0 ? found : undefined;
    });
    expect(first).toEqual([1]);
    const popped = await rig.ask(queueCalls.queueMessageDelete, { project, queue, pop: 5 });
    expect(popped.messages).toEqual([]);
    expect(await list({ include_delayed: true })).toEqual([1, 2, 3]);
  });

  it('has the delay of its queue when it names none', async () => {
    const create = (delay: unknown) =>
      rig.ask(queueCalls.queueCreate, { project, queue, metadata: { _default_message_delay: delay as number } });
    for (const wrong of [-1, 901, 1.5, '5']) {
      await expect(create(wrong)).rejects.toMatchObject({ mistakes: [{ path: '_default_message_delay' }] });
    }
    await create(900);
    await post({ body: 1 }, { body: 2, delay: 0 });
    expect(await list()).toEqual([2]);
  });

  it('is refused in the queue of a host, whose messages are handled in order', async () => {
    const { id } = await rig.host('web');
    const messages = [{ body: { id: 'r', status_code: 0 }, ttl: 60, delay: 5 }];
    for (const role of ['requests', 'responses']) {
      const question = { project, queue: `host.${id}.${role}`, client_id: 'me', messages };
      await expect(rig.ask(queueCalls.queuePost, question)).rejects.toMatchObject({
        code: 'InvalidRequest',
        mistakes: [{ path: 'messages.0.delay' }],
      });
    }
  });
});

describe('a message without a time to live', () => {
  it('lives as long as its queue says when it names no time, and at most as long as the gateway allows', async () => {
    const create = (ttl: unknown) =>
      rig.ask(queueCalls.queueCreate, { project, queue, metadata: { _default_message_ttl: ttl as number } });
    for (const wrong of [59, 1_209_601, 60.5, '60']) {
      await expect(create(wrong)).rejects.toMatchObject({ mistakes: [{ path: '_default_message_ttl' }] });
    }
    const put = (messages: { body: number; ttl?: number }[], most_default_ttl?: number) =>
      rig.ask(queueCalls.queuePost, {
        project,
        queue,
        client_id: 'me',
        messages,
        ...(most_default_ttl !== undefined && { most_default_ttl }),
      });
    await put([{ body: 0 }]);
    await create(600);
    await put([{ body: 1 }, { body: 2, ttl: 90 }]);
    await put([{ body: 3 }], 300);
    const question = { project, queue, include_claimed: true, echo: true, client_id: 'me' };
    const { messages } = await rig.ask(queueCalls.queueMessages, question);
    expect(messages.map(({ ttl }) => ttl)).toEqual([3600, 600, 90, 300]);
  });
});
