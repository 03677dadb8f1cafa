import { randomUUID } from 'node:crypto';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import { change } from '@anneal/store/change.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { openConfigurationCollections, type HostDocument } from '../collections.ts';
import { createRig, project, type Rig } from '../testing/running-service.ts';

let rig: Rig;
afterEach(() => rig.dispose());

const key = 'a key of at least 16';
const join = (host = 'web') => rig.ask(hostCalls.hostJoin, { project, host });
const exchange = (join_token: string, with_key = key) =>
  rig.ask(hostCalls.hostJoinExchange, { join_token, key: with_key });

const serve = (name: string) => rig.ask(hostCalls.hostCreate, { id: randomUUID(), name, project, take_joined: true });

/** A joined host as 0.1.0 stored it, without the key of its name. */
async function earlierHost(name: string): Promise<HostDocument> {
  const { host } = await join(`h${randomUUID()}`);
  const { hosts } = await openConfigurationCollections(rig.context.store);
  const { document } = await change(hosts, host.id, ({ name_key: _key, ...current }) => ({ ...current, name }));
  if (!document) throw new Error('the host is not in the store');
  return document;
}

describe('a host that joins', () => {
  it.each(['/tmp/x', '', 'a\u0001b'])('refuses %j as a name', async (name) => {
    rig = await createRig();
    await expect(join(name)).rejects.toThrow('is not valid: data.host');
  });

  it.each([
    ['anneal.scheduling', 'anneal.scheduling.requests'],
    ['anneal.scheduling.shard.3', 'anneal.scheduling.shard.3'],
    ['anneal.configuration.dead', 'anneal.configuration.dead'],
    ['host.x.requests', 'host.x.requests'],
  ])('refuses the name %s, which is that of the queue %s', async (name, queue) => {
    rig = await createRig();
    const refused = { code: 'InvalidRequest', message: expect.stringContaining(`the name ${queue}, which is that of`) };
    await expect(join(name)).rejects.toMatchObject(refused);
    await expect(rig.ask(hostCalls.hostCreate, { id: randomUUID(), name, project })).rejects.toMatchObject(refused);
  });

  it.each(['anneal', 'anneal.example.org', 'host.example.org'])('accepts the name %s', async (name) => {
    rig = await createRig();
    expect((await join(name)).host.name).toBe(name);
  });

  it('J1, J2: gets its token once; only the same key repeats the exchange; a newer line replaces an older one', async () => {
    rig = await createRig();
    const { host, join_token, expires_at } = await join();
    expect(host).toMatchObject({ name: 'web', status: 'expected' });
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.now());
    const first = await exchange(join_token);
    expect(first).toMatchObject({ host_id: host.id, name: 'web', requests_queue: `host.${host.id}.requests` });
    expect(await exchange(join_token)).toEqual(first);
    await expect(exchange(join_token, 'another key of 16')).rejects.toMatchObject({ code: 'Conflict' });
    expect(await rig.ask(hostCalls.hostAuthenticate, { token: first.token })).toMatchObject({ host_id: host.id });

    const again = await join();
    expect(again.host.id).toBe(host.id);
    await expect(exchange(join_token)).rejects.toMatchObject({ code: 'NotFound' });
    const second = await exchange(again.join_token);
    await expect(rig.ask(hostCalls.hostAuthenticate, { token: first.token })).rejects.toMatchObject({
      code: 'Unauthorized',
    });
    expect(await rig.ask(hostCalls.hostAuthenticate, { token: second.token })).toMatchObject({ host_id: host.id });
    await expect(exchange('a-guess-of-a-token')).rejects.toMatchObject({ code: 'NotFound' });
    const hosts = await rig.context.store.collection({ name: 'configuration_hosts', indexes: [] });
    const stored = JSON.stringify(await hosts.get(host.id));
    expect(stored).toContain('join_hash');
    for (const secret of [join_token, again.join_token, first.token, second.token])
      expect(stored).not.toContain(secret);
  });

  it('keeps its token when one of two machines with the same line is late', async () => {
    rig = await createRig();
    const { join_token } = await join();
    const tries = await Promise.allSettled([exchange(join_token, `${key} 1`), exchange(join_token, `${key} 2`)]);
    const won = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(won).toHaveLength(1);
    expect(await rig.ask(hostCalls.hostAuthenticate, { token: won[0]?.token ?? '' })).toMatchObject({ name: 'web' });
  });

  it('is taken by a deployed server of its name, returns when the server is deleted, and only then can be deleted', async () => {
    rig = await createRig();
    const { host } = await join();
    const server = { id: randomUUID(), name: 'web', project, take_joined: true };
    const taken = await rig.ask(hostCalls.hostCreate, server);
    expect(taken.host.id).toBe(host.id);
    expect((await rig.ask(hostCalls.hostCreate, server)).host.id).toBe(host.id);
    const other = await rig.ask(hostCalls.hostCreate, { ...server, id: randomUUID() });
    expect(other.host.id).not.toBe(host.id);
    await expect(rig.ask(hostCalls.hostRemove, { project, host: host.id })).rejects.toMatchObject({ code: 'Conflict' });
    await expect(rig.ask(hostCalls.hostRemove, { project, host: other.host.id })).rejects.toMatchObject({
      code: 'Conflict',
    });
    for (let repeat = 0; repeat < 2; repeat += 1) await rig.ask(hostCalls.hostDelete, { id: server.id });
    expect(await rig.ask(hostCalls.hostShow, { project, host: host.id })).toMatchObject({ id: host.id });
    await rig.ask(hostCalls.hostRemove, { project, host: host.id });
    await expect(rig.ask(hostCalls.hostShow, { project, host: host.id })).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('is a new host for a server that provisions its own machine', async () => {
    rig = await createRig();
    const { host } = await join();
    const created = await rig.ask(hostCalls.hostCreate, { id: randomUUID(), name: 'web', project });
    expect(created.host.id).not.toBe(host.id);
  });

  it.each(['web1.example.org', 'Web1', 'web_1'])('joined as %s is the host of a server of that name', async (name) => {
    rig = await createRig();
    const { host } = await join(name);
    const { host: taken } = await serve(name);
    expect(taken).toMatchObject({ id: host.id, name });
    expect((await serve(name)).host.id).not.toBe(host.id);
  });

  it('N1: is taken by its exact name, although another one differs from it only in the case of letters', async () => {
    rig = await createRig();
    const first = await earlierHost('Web1');
    const second = await earlierHost('web1');
    expect((await serve('web1')).host.id).toBe(second.id);
    expect((await join('Web1')).host.id).toBe(first.id);
    // The exact one is in use.
    expect([first.id, second.id]).not.toContain((await serve('web1')).host.id);
  });

  it('N2: is found and taken in another case of letters, also by operators', async () => {
    rig = await createRig();
    const { host } = await join('Web1.example.org');
    expect((await join('web1.EXAMPLE.org')).host).toMatchObject({ id: host.id, name: 'Web1.example.org' });
    const shown = await rig.ask(hostCalls.hostShow, { project, host: 'web1.example.org' });
    expect(shown.id).toBe(host.id);
    expect((await serve('web1.example.org')).host.id).toBe(host.id);
    await expect(rig.ask(hostCalls.hostShow, { project, host: 'web1-example-org' })).rejects.toMatchObject({
      code: 'NotFound',
    });
  });

  it('N3: is not taken when several differ from the name in the case of letters; the error names them', async () => {
    rig = await createRig();
    await earlierHost('Web1');
    await earlierHost('WEB1');
    await rig.restart({});
    const refused = {
      code: 'InvalidRequest',
      message: expect.stringContaining('no host web1, and WEB1 and Web1 differ'),
    };
    await expect(serve('web1')).rejects.toMatchObject(refused);
    await expect(rig.ask(hostCalls.hostShow, { project, host: 'web1' })).rejects.toMatchObject(refused);
  });

  it.each(['a b', 'größe', 'web1.', 'a'.repeat(64)])(
    'is refused under the new name %j, with the rule',
    async (name) => {
      rig = await createRig();
      await expect(join(name)).rejects.toMatchObject({
        code: 'InvalidRequest',
        message: expect.stringContaining('a host name consists of parts of 1 to 63 letters'),
        mistakes: [{ path: 'host', found: name }],
      });
      expect((await rig.ask(hostCalls.hostList, { project })).hosts).toEqual([]);
    },
  );

  it('keeps the name that 0.1.0 accepted, and is found by it, after an update also in another case', async () => {
    rig = await createRig();
    const { id } = await earlierHost('My Box');
    expect((await join('My Box')).host.id).toBe(id);
    await rig.restart({});
    expect((await join('my box')).host.id).toBe(id);
  });

  it('resembles the name of another host while no server uses it', async () => {
    rig = await createRig();
    for (const name of ['web1.example.org', 'web-1', 'web2']) await join(name);
    const { host } = await serve('web1');
    const similar = async () => (await rig.ask(hostCalls.hostShow, { project, host: host.id, similar: true })).similar;
    expect(await similar()).toEqual(['web-1', 'web1.example.org']);
    await serve('web-1');
    expect(await similar()).toEqual(['web1.example.org']);
    expect(await rig.ask(hostCalls.hostShow, { project, host: host.id })).not.toHaveProperty('similar');
  });
});
