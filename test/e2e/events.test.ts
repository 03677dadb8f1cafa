/** The events of a stack with a machine: their origin, filters by scope, and a client that follows over a restart. */
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 1 });
});
afterAll(() => server?.dispose());

const inner = `
heat_template_version: 2018-08-31
resources:
  server: {type: OS::Nova::Server, properties: {image: any, flavor: baremetal, user_data_format: SOFTWARE_CONFIG}}
  config: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: 'echo hello'}}
  hello: {type: OS::Heat::SoftwareDeployment, properties: {config: {get_resource: config}, server: {get_resource: server}}}
`;
const template = `
heat_template_version: 2018-08-31
resources:
  tier: {type: inner.yaml}
`;
const other = `
heat_template_version: 2018-08-31
resources:
  v: {type: OS::Heat::Value, properties: {value: v}}
`;

/** Follows until the test stops it. */
function following(query: Parameters<TestServer['client']['events']>[0]) {
  const stop = new AbortController();
  const received: AnnealEvent[] = [];
  const done = (async () => {
    for await (const event of server.client.events({ ...query, signal: stop.signal })) received.push(event);
  })();
  return {
    received,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

const keys = (events: readonly AnnealEvent[]): string[] =>
  events.map((event) => `${event.type} ${'origin' in event.data ? event.data.origin.path : ''}`);

describe('the events of a stack with a machine', () => {
  it('name the stack, the path and the reason, are found by scope, and are followed over a restart of the server', async () => {
    const { client } = server;
    await client.stacks.create({ name: 'web', bundle: bundle(template, { 'inner.yaml': inner }), tags: ['prod'] });
    await client.stacks.create({ name: 'else', bundle: bundle(other) });
    const web = following({ stack: 'web', after: 'beginning' });
    expect((await settled(server, 'web', 120_000)).stack_status).toBe('CREATE_COMPLETE');
    expect((await settled(server, 'else')).stack_status).toBe('CREATE_COMPLETE');
    await eventually(() => (keys(web.received).includes('stack.create.completed ') ? true : undefined), {
      last: () => keys(web.received),
    });
    const { id } = await client.stacks.show({ stack: 'web' });
    const root = { stack_id: id, stack_name: 'web' };
    for (const event of web.received) {
      expect('origin' in event.data && event.data.origin, event.type).toMatchObject({ root, tags: ['prod'] });
    }
    expect(keys(web.received)).toEqual(
      expect.arrayContaining([
        'resource.create.completed tier/server',
        'deployment.completed tier/hello',
        'host.up tier/server',
        'node.provision.changed tier/server',
        'node.power.changed tier/server',
      ]),
    );
    const node = web.received.findLast((event) => event.type === 'node.provision.changed');
    expect(node?.type === 'node.provision.changed' && node.data).toMatchObject({
      provision_state: 'active',
      reason: 'deployed for web/tier/server',
    });
    const deployment = web.received.find((event) => event.type === 'deployment.completed');
    const host = deployment?.type === 'deployment.completed' ? deployment.data.host_name : '';
    expect(deployment?.data).toMatchObject({
      origin: { actor: { kind: 'user', name: 'admin' }, cause: { kind: 'request' } },
    });

    await server.kill();
    await server.start();
    await server.client.stacks.delete({ stack: 'web' });
    await deleted(server, 'web', 120_000);
    await eventually(() => (keys(web.received).includes('stack.delete.completed ') ? true : undefined), {
      last: () => keys(web.received).slice(-10),
    });
    await web.stop();
    const ids = web.received.map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(
      (await server.client.events.list({ stack: id, after: 'beginning', limit: 1000 }))
        .map((event) => event.id)
        .slice(0, ids.length),
    );
    expect(keys(web.received)).toContain('host.deleted tier/server');

    const found = async (query: Parameters<typeof client.events.list>[0]): Promise<string[]> =>
      keys(await server.client.events.list({ after: 'beginning', limit: 1000, ...query }));
    expect((await found({ stack: 'else' })).every((key) => / v?$/.test(key))).toBe(true);
    expect(await found({ stack: 'web/tier', types: ['stack.create.completed'] })).toEqual([
      'stack.create.completed tier',
    ]);
    expect(await found({ tag: 'prod', types: ['stack.delete.completed'] })).toHaveLength(2);
    expect(await found({ tag: ['none', 'prod'], stack: 'else' })).toEqual([]);
    expect(await found({ host, types: ['deployment.completed', 'host.up', 'node.#'] })).toEqual([
      'host.up tier/server',
      'deployment.completed tier/hello',
    ]);
    expect(await found({ filters: [{ prefix: { stack: 'web/ti' } }], types: ['stack.create.started'] })).toEqual([
      'stack.create.started tier',
    ]);
    await expect(found({ filters: [{ like: { stack: 'web' } }] })).rejects.toThrow('filters[0]');
  });

  it('are listed by the command line, and subscribed to, with the same scope', async () => {
    const listed = await server.anneal('event', 'list', '--stack', 'else', '--type', 'stack.#', '-o', 'json');
    expect(listed.stderr).toBe('');
    expect((JSON.parse(listed.stdout) as AnnealEvent[]).map(({ type }) => type)).toEqual([
      'stack.create.started',
      'stack.create.completed',
    ]);
    const scope = ['--stack', 'web', '--tag', 'prod', '--group', 'web/tier', '--host', 'a', '--host', 'b'];
    const made = await server.anneal('subscription', 'create', 'http://127.0.0.1:9/hook', ...scope, '-o', 'json');
    expect(made.stderr).toBe('');
    expect(JSON.parse(made.stdout)).toMatchObject({
      subscription: {
        filters: [
          { exact: { stack: 'web' } },
          { exact: { tag: 'prod' } },
          { exact: { group: 'web/tier' } },
          { any: [{ exact: { host: 'a' } }, { exact: { host: 'b' } }] },
        ],
      },
    });
  });

  it('come over a WebSocket in order, and continue after the last one when the server was killed', async () => {
    const ids: string[] = [];
    const stored = async (): Promise<string[]> =>
      (await server.client.events.list({ stack: 'socket', after: 'beginning', limit: 1000 })).map(({ id }) => id);
    const follow = async (after: string): Promise<{ closed: Promise<number> }> => {
      const { ticket } = (await server.client.connection.json({
        service: 'api',
        path: '/events/ticket',
        method: 'POST',
        body: { stack: ['socket'] },
        what: 'make a ticket',
      })) as { ticket: string };
      const socket = new WebSocket(
        `${server.url.replace('http', 'ws')}/api/v1/events/ws?ticket=${ticket}&after=${after}`,
        'cloudevents.json',
      );
      socket.addEventListener('message', ({ data }) => {
        const { id, type } = JSON.parse(String(data)) as { id: string; type: string };
        if (type !== 'events.position') ids.push(id);
      });
      return { closed: new Promise((resolve) => socket.addEventListener('close', ({ code }) => resolve(code))) };
    };
    const first = await follow('beginning');
    await server.client.stacks.create({ name: 'socket', bundle: bundle(other) });
    await settled(server, 'socket');
    await eventually(() => ids.length >= 2, { last: () => ids });
    await server.kill();
    expect(await first.closed).toBe(1006);
    await server.start();
    await server.client.stacks.delete({ stack: 'socket' });
    await deleted(server, 'socket');
    await eventually(async () => {
      const last = await server.client.events.list({ stack: 'socket', types: ['stack.delete.completed'] });
      return last.length > 0;
    });
    const expected = await stored();
    await follow(ids.at(-1) ?? '');
    await eventually(() => ids.length >= expected.length, { last: () => ({ ids, expected }) });
    expect(ids).toEqual(expected);
  });
});
