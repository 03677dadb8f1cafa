/** Queues: Zaqar's three versions, and our own API. */
import { wordOf, at } from './document.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

const post = async (world: ValuesWorld, text: string, version = 'v2'): Promise<string> => {
  const queue = `/messaging/${version}/queues/${world.name('q')}`;
  const message = `{"ttl":300,"body":${text}}`;
  if (version !== 'v2') await world.call('PUT', queue, version === 'v1' ? '{}' : undefined);
  await world.call('POST', `${queue}/messages`, version === 'v1' ? `[${message}]` : `{"messages":[${message}]}`);
  return queue;
};

const listed =
  (version: string): Door =>
  async (world, text) => {
    const queue = await post(world, text, version);
    return at(await world.call('GET', `${queue}/messages?echo=true`), 'messages', 0, 'body');
  };

export const queueDoors: Readonly<Record<string, Door>> = {
  'Zaqar v1: a message in the list': listed('v1'),
  'Zaqar v1.1: a message in the list': listed('v1.1'),
  'Zaqar v2: a message in the list': listed('v2'),
  'Zaqar v2: a message by its id': async (world, text) => {
    const queue = await post(world, text);
    const id = wordOf(at(await world.call('GET', `${queue}/messages?echo=true`), 'messages', 0, 'id'));
    return at(await world.call('GET', `${queue}/messages/${id}`), 'body');
  },
  'Zaqar v2: a claimed message': async (world, text) => {
    const queue = await post(world, text);
    return at(await world.call('POST', `${queue}/claims`, '{"ttl":60.0,"grace":6e1}'), 'messages', 0, 'body');
  },
  'Zaqar v2: a popped message': async (world, text) => {
    const queue = await post(world, text);
    return at(await world.call('DELETE', `${queue}/messages?pop=1`), 'messages', 0, 'body');
  },
  'Zaqar v2: the metadata of a queue': async (world, text) => {
    const queue = `/messaging/v2/queues/${world.name('q')}`;
    await world.call('PUT', queue, `{"document":${text}}`);
    return at(await world.call('GET', queue), 'document');
  },
  'Zaqar v2: a patch of the metadata': async (world, text) => {
    const queue = `/messaging/v2/queues/${world.name('q')}`;
    await world.call('PUT', queue, '{"before":1.0}');
    const type = { 'content-type': 'application/openstack-messaging-v2.0-json-patch' };
    await world.call('PATCH', queue, `[{"op":"add","path":"/metadata/document","value":${text}}]`, type);
    return at(await world.call('GET', queue), 'document');
  },
  'our API: a message of a queue': async (world, text) => {
    const queue = `/api/v1/queues/${world.name('q')}/messages`;
    await world.call('POST', queue, `{"messages":[{"body":${text}}]}`);
    return at(await world.call('GET', queue), 'messages', 0, 'body');
  },
  'our API: a message of a watched queue': async (world, text) => {
    const queue = `/api/v1/queues/${world.name('q')}`;
    await world.call('POST', `${queue}/messages`, `{"messages":[{"body":"first"}]}`);
    return world.streamed(
      `${queue}/watch`,
      (message) => (at(message, 'body') === 'first' ? undefined : at(message, 'body')),
      () => world.call('POST', `${queue}/messages`, `{"messages":[{"body":${text}}]}`),
    );
  },
};
