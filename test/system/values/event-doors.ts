/** Events and their listeners. The event of a posted message contains its body. */
import { at, type Odd } from './document.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

const posted = async (world: ValuesWorld, text: string, subscriber: string, options = '{}'): Promise<string> => {
  const queue = world.name('q');
  const path = `/messaging/v2/queues/${queue}`;
  await world.call('POST', `${path}/subscriptions`, `{"subscriber":"${subscriber}","ttl":600,"options":${options}}`);
  await world.call('POST', `${path}/messages`, `{"messages":[{"ttl":300,"body":${text}}]}`);
  return queue;
};
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
    const path = `/${world.name('hook')}`;
    const queue = world.name('q');
    await world.call('PUT', `/messaging/v2/queues/${queue}`, '{}');
    await world.call(
      'POST',
      '/api/v1/subscriptions',
      `{"name":"${world.name('sub')}","url":"${world.listener}${path}","types":["queue.message.posted"],"filters":[{"exact":{"subject":"${queue}"}}]}`,
    );
    await world.call(
      'POST',
      `/messaging/v2/queues/${queue}/subscriptions`,
      `{"subscriber":"${world.listener}/other","ttl":600}`,
    );
    await world.call('POST', `/messaging/v2/queues/${queue}/messages`, `{"messages":[{"ttl":300,"body":${text}}]}`);
    return at(await world.heard(path), 'data', 'body');
  },
  'the list of events': async (world, text) => {
    const queue = await posted(world, text, `${world.listener}/other`);
    const found = await world.until('/api/v1/events?types=queue.message.posted&limit=1000', (events) =>
      (at(events, 'events') as Odd[]).some((event) => bodyOf(queue)(event) !== undefined),
    );
    return (at(found, 'events') as Odd[]).map(bodyOf(queue)).find((body) => body !== undefined) as Odd;
  },
  'the stream of events': async (world, text) => {
    const queue = world.name('q');
    await world.call('PUT', `/messaging/v2/queues/${queue}`, '{}');
    await world.call(
      'POST',
      `/messaging/v2/queues/${queue}/subscriptions`,
      `{"subscriber":"${world.listener}/other","ttl":600}`,
    );
    return world.streamed('/api/v1/events?types=queue.message.posted', bodyOf(queue), () =>
      world.call('POST', `/messaging/v2/queues/${queue}/messages`, `{"messages":[{"ttl":300,"body":${text}}]}`),
    );
  },
};
