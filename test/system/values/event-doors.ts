/** Events and their listeners. The event of a posted message contains its body. */
import { verifyWebhook } from '@anneal/client/webhook.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { at, readOdd, wordOf, type Odd } from './document.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

/** Messages are events only in a queue with a subscription. */
const subscribed = async (world: ValuesWorld, subscriber: string, options = '{}'): Promise<string> => {
  const queue = world.name('q');
  const body = `{"subscriber":"${subscriber}","ttl":600,"options":${options}}`;
  await world.call('POST', `/messaging/v2/queues/${queue}/subscriptions`, body);
  return queue;
};
const post = (world: ValuesWorld, queue: string, text: string): Promise<Odd> =>
  world.call('POST', `/messaging/v2/queues/${queue}/messages`, `{"messages":[{"ttl":300,"body":${text}}]}`);
const posted = async (world: ValuesWorld, text: string, subscriber: string, options?: string): Promise<string> => {
  const queue = await subscribed(world, subscriber, options);
  await post(world, queue, text);
  return queue;
};
/** Posts the document into a queue whose events go to a webhook. Returns its path, and the secret that signs. */
async function hooked(world: ValuesWorld, text: string): Promise<{ path: string; secret: string }> {
  const path = `/${world.name('hook')}`;
  const queue = await subscribed(world, `${world.listener}/other`);
  const created = await world.call(
    'POST',
    '/api/v1/subscriptions',
    `{"name":"${world.name('sub')}","url":"${world.listener}${path}","types":["queue.message.posted"],"filters":[{"exact":{"subject":"${queue}"}}]}`,
  );
  await post(world, queue, text);
  return { path, secret: wordOf(at(created, 'secret')) };
}
const bodyOf =
  (queue: string) =>
  (event: Odd): Odd | undefined => {
    // The first entry of a stream says only where it begins.
    const isMessage = event instanceof Map && event.get('type') === 'queue.message.posted';
    return isMessage && at(event, 'data', 'queue') === queue ? at(event, 'data', 'body') : undefined;
  };

export const eventDoors: Readonly<Record<string, Door>> = {
  'a webhook of Zaqar': async (world, text) => {
    const path = `/${world.name('hook')}`;
    await posted(world, text, `${world.listener}${path}`);
    return at(await world.heard(path), 'body');
  },
  'a webhook of Zaqar with a text of its own': async (world, text) => {
    const path = `/${world.name('hook')}`;
    await posted(world, text, `${world.listener}${path}`, `{"post_data":"[\\"$zaqar_message$\\"]"}`);
    return at(await world.heard(path), 0, 'body');
  },
  'a webhook of events': async (world, text) => {
    const { path } = await hooked(world, text);
    return at(await world.heard(path), 'data', 'body');
  },
  'a webhook of events, as the client reads it': async (world, text) => {
    const { path, secret } = await hooked(world, text);
    const [event] = verifyWebhook({ ...(await world.request(path)), secrets: secret });
    return at(readOdd(JSON.stringify(event)), 'data', 'body');
  },
  'the WebSocket of events': async (world, text) => {
    const queue = await subscribed(world, `${world.listener}/other`);
    return world.socket('{"types":["queue.message.posted"]}', bodyOf(queue), () => post(world, queue, text));
  },
  'a dead letter': async (world, text) => {
    const { context, project } = world;
    // The service does not take this message.
    const data = { project, stack: 's', resource: 'r', signal: parseExact(text) };
    const message = context.mint(stackSignal, { data, project });
    await context.bus.send({ queue: requestsQueue('templating'), messages: [message] });
    const found = await world.until('/api/v1/dead-letters?limit=1000', (letters) =>
      (at(letters, 'dead_letters') as Odd[]).some((letter) => at(letter, 'message', 'id') === message.id),
    );
    const letter =
      (at(found, 'dead_letters') as Odd[]).find((each) => at(each, 'message', 'id') === message.id) ?? null;
    return at(letter, 'message', 'data', 'signal');
  },
  'the list of events': async (world, text) => {
    const queue = await posted(world, text, `${world.listener}/other`);
    const found = await world.until('/api/v1/events?types=queue.message.posted&limit=1000', (events) =>
      (at(events, 'events') as Odd[]).some((event) => bodyOf(queue)(event) !== undefined),
    );
    return (at(found, 'events') as Odd[]).map(bodyOf(queue)).find((body) => body !== undefined) as Odd;
  },
  'the stream of events': async (world, text) => {
    const queue = await subscribed(world, `${world.listener}/other`);
    return world.streamed('/api/v1/events?types=queue.message.posted', bodyOf(queue), () => post(world, queue, text));
  },
};
