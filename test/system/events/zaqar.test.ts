/** Subscriptions to queues in Zaqar's API, and with the client of OpenStack where it is installed. */
import { execFile } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { findProgram } from '../../backends/program.ts';
import { openEventWorld, type EventWorld } from './world.ts';

let world: EventWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

interface Heard {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: Record<string, unknown> & { body?: { n?: number } };
}

async function listen(): Promise<{ url: string; heard: Heard[] }> {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      heard.push({ headers: request.headers, text, json: JSON.parse(text) as Heard['json'] });
      response.writeHead(200).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, heard };
}

/** Calls the queue API as a client does. */
function callerAt({ url, token }: EventWorld) {
  return async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const response = await fetch(`${url}/messaging/v2${path}`, {
      method,
      headers: {
        'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
        'x-auth-token': token,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      json: (text === '' ? null : JSON.parse(text)) as unknown,
    };
  };
}

describe('a subscription to a queue', () => {
  it('has the answers of Zaqar, and sends each message in the order of the queue', async () => {
    world = await openEventWorld();
    const call = callerAt(world);
    const { url, heard } = await listen();
    const posted: unknown[] = [];
    await world.context.bus.subscribe(['queue.message.posted'], async ({ message }) => void posted.push(message.data));
    const all = '/queues/qs/subscriptions';
    await call('POST', '/queues/qs/messages', { messages: [{ ttl: 300, body: { n: 0 } }] });
    const wanted = { subscriber: url, ttl: 600, options: { post_headers: { 'X-Tag': 'a' } } };
    const made = await call('POST', all, wanted);
    expect([made.status, made.headers.get('location')]).toEqual([201, '/v2/queues/qs/subscriptions']);
    const { subscription_id: id } = made.json as { subscription_id: string };
    expect((await call('POST', all, { ...wanted, options: {} })).json).toEqual({ subscription_id: id });
    const shown = { id, source: 'qs', subscriber: url, ttl: 600, age: expect.any(Number), options: wanted.options };
    expect((await call('GET', all)).json).toEqual({
      subscriptions: [{ ...shown, confirmed: false }],
      links: [{ rel: 'next', href: `/v2/queues/qs/subscriptions?marker=${id}` }],
    });
    expect((await call('PUT', `${all}/${id}/confirm`, { confirmed: true })).status).toBe(204);
    expect((await call('GET', `${all}/${id}`)).json).toEqual({ ...shown, confirmed: true });

    const messages = [1, 2, 3, 4, 5].map((n) => ({ ttl: 300, body: { n } }));
    await call('POST', '/queues/qs/messages', { messages: messages.slice(0, 3) });
    await call('POST', '/queues/qs/messages', { messages: messages.slice(3) });
    await call('POST', '/queues/other/messages', { messages: [{ ttl: 300, body: { n: 9 } }] });
    await eventually(() => heard.length >= 5 || undefined, { last: () => heard.map(({ text }) => text) });
    // The message before the subscription, and that of another queue, are not sent.
    expect(heard.map(({ json }) => json.body?.n)).toEqual([1, 2, 3, 4, 5]);
    await eventually(() => posted.length >= 5 || undefined, { what: 'the events', last: () => posted });
    expect(posted).toMatchObject([1, 2, 3, 4, 5].map((n) => ({ queue: 'qs', ttl: 300, body: { n } })));
    expect(heard[0]).toMatchObject({
      headers: { 'x-tag': 'a', 'content-type': 'application/json' },
      json: { ttl: 300, body: { n: 1 }, Message_Type: 'Notification', queue_name: 'qs' },
    });

    const patch = { ttl: 900, options: { post_data: '{"input": "$zaqar_message$", "k": 1}' } };
    expect((await call('PATCH', `${all}/${id}`, patch)).status).toBe(204);
    expect((await call('GET', `${all}/${id}`)).json).toMatchObject(patch);
    await call('POST', '/queues/qs/messages', { messages: [{ ttl: 300, body: 'last' }] });
    await eventually(() => heard.length === 6);
    expect(heard[5]?.json).toMatchObject({ k: 1, input: { body: 'last', queue_name: 'qs' } });

    expect((await call('DELETE', `${all}/${id}`)).status).toBe(204);
    expect((await call('DELETE', `${all}/${id}`)).status).toBe(204);
    const gone = await call('GET', `${all}/${id}`);
    expect([gone.status, gone.json]).toMatchObject([404, { description: `Subscription ${id} does not exist` }]);
    await call('POST', all, wanted);
    await call('POST', '/queues/qs/purge', { resource_types: ['messages'] });
    expect((await call('GET', all)).json).toMatchObject({ subscriptions: [{ source: 'qs' }] });
    await call('POST', '/queues/qs/purge', {});
    expect((await call('GET', all)).json).toMatchObject({ subscriptions: [] });
    await call('POST', all, wanted);
    expect((await call('DELETE', '/queues/qs')).status).toBe(204);
    expect((await call('GET', all)).json).toMatchObject({ subscriptions: [] });
  });

  it('is refused in the words of Zaqar, and changes nothing', async () => {
    world = await openEventWorld();
    const call = callerAt(world);
    const mistakes: [object, string][] = [
      [{ subscriber: 'ftp://x/', ttl: 600 }, 'The subscriber type of subscription must be supported'],
      [{ subscriber: 'trust+http://x/', ttl: 600 }, 'A subscriber by trust must be an address of this server'],
      [{ subscriber: 'http://x/', ttl: 1 }, 'The TTL for a subscription must be at least 60 seconds long.'],
      [{ subscriber: 'http://x/', ttl: 'long' }, 'TTL must be an integer.'],
      [{ ttl: 600 }, 'Missing parameter subscriber in body.'],
      [{ subscriber: 'http://x/', ttl: 600, options: [] }, 'Options must be a dict.'],
      [
        { subscriber: 'http://x/', ttl: 600, options: { post_headers: { Host: 'y' } } },
        'the header "Host" is not allowed',
      ],
      [{ subscriber: 'http://x/', ttl: 600, options: { post_headers: { A: 'b\r\nc: d' } } }, 'not ASCII text'],
    ];
    for (const [body, said] of mistakes) {
      const { status, json } = await call('POST', '/queues/q/subscriptions', body);
      expect([status, (json as { description: string }).description]).toEqual([400, expect.stringContaining(said)]);
    }
    expect((await call('GET', '/queues/q/subscriptions')).json).toMatchObject({ subscriptions: [] });
    expect((await call('GET', '/queues')).json).toMatchObject({ queues: [] });
  });

  it('sends nothing until its subscriber confirms with the signature that only it receives', async () => {
    world = await openEventWorld({ ANNEAL_NOTIFICATION_CONFIRM: 'true' });
    const call = callerAt(world);
    const { url, heard } = await listen();
    const all = '/queues/qc/subscriptions';
    const { json } = await call('POST', all, { subscriber: url, ttl: 600 });
    const { subscription_id: id } = json as { subscription_id: string };
    const [asked] = await eventually(() => (heard.length > 0 ? heard : undefined));
    expect(asked?.json).toMatchObject({
      Message_Type: 'SubscriptionConfirmation',
      queue_name: 'qc',
      SubscribeBody: { confirmed: true },
      'URL-Methods': 'PUT',
    });
    await call('POST', '/queues/qc/messages', { messages: [{ body: { n: 1 } }] });
    expect((await call('PUT', `${all}/${id}/confirm`, { confirmed: true })).status).toBe(403);
    const put = (signature: string) =>
      fetch(String(asked?.json['WSGISubscribeURL']), {
        method: 'PUT',
        headers: {
          'content-type': 'application/json',
          'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
          'url-signature': signature,
          'url-expires': String(asked?.json['URL-Expires']),
        },
        body: JSON.stringify(asked?.json['SubscribeBody']),
      });
    expect((await put('wrong')).status).toBe(403);
    expect(heard).toHaveLength(1);
    expect((await put(String(asked?.json['URL-Signature']))).status).toBe(204);
    await eventually(() => heard.length === 2);
    expect(heard[1]?.json).toMatchObject({ body: { n: 1 } });
    expect((await call('GET', `${all}/${id}`)).json).toMatchObject({ confirmed: true });
    // Another address needs an agreement of its own.
    const other = await listen();
    await call('PATCH', `${all}/${id}`, { subscriber: other.url });
    await call('POST', '/queues/qc/messages', { messages: [{ body: { n: 2 } }] });
    await eventually(() => other.heard.length === 1);
    expect(other.heard[0]?.json).toMatchObject({ Message_Type: 'SubscriptionConfirmation' });
    expect((await call('GET', `${all}/${id}`)).json).toMatchObject({ confirmed: false });
  });
});

const openstack = process.env['ANNEAL_TEST_OPENSTACK'] ?? (await findProgram('openstack'));
if (openstack === undefined) process.stderr.write('Skipped: openstack is not here (ANNEAL_TEST_OPENSTACK).\n');

it.skipIf(openstack === undefined)(
  'the client of OpenStack creates, lists, changes and deletes subscriptions',
  async () => {
    world = await openEventWorld();
    const { url, heard } = await listen();
    const environment = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...world.openstack };
    const run = async (...words: string[]): Promise<string> => {
      const made = await promisify(execFile)(openstack ?? '', ['messaging', ...words], { env: environment });
      return made.stdout;
    };
    const created = JSON.parse(await run('subscription', 'create', 'qc', url, '600', '-f', 'json')) as { ID: string };
    const listedNow = async () => JSON.parse(await run('subscription', 'list', 'qc', '-f', 'json')) as object[];
    expect(await listedNow()).toMatchObject([{ ID: created.ID, Subscriber: url, TTL: 600, Confirmed: false }]);
    await run(
      'message',
      'post',
      'qc',
      JSON.stringify([{ body: { n: 1 }, ttl: 60 }]),
      '--client-id',
      '3381af92-2b9e-11e3-b191-71861300734c',
    );
    await eventually(() => heard.length > 0 || undefined, { last: () => heard.length });
    expect(heard[0]?.json).toMatchObject({ body: { n: 1 }, queue_name: 'qc' });
    await run('subscription', 'update', 'qc', created.ID, '--ttl', '900', '--subscriber', url);
    expect(JSON.parse(await run('subscription', 'show', 'qc', created.ID, '-f', 'json'))).toMatchObject({ TTL: 900 });
    await run('subscription', 'delete', 'qc', created.ID);
    expect(await listedNow()).toEqual([]);
  },
);
