/** Hosts that use RabbitMQ or NATS directly, as programs that know only the library of the broker. */
import type { Rig } from '@anneal/configuration/testing/running-service.ts';
import {
  hostBrokerGrant,
  hostBrokerRevoke,
  hostJoin,
  hostRemove,
  hostShow,
  hostTokenRenew,
} from '@anneal/contracts/calls/hosts.ts';
import { queueMessages } from '@anneal/contracts/calls/queues.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { project } from '@anneal/configuration/testing/running-service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  createBrokerRig,
  findHostBroker,
  grantTo,
  natsKind,
  rabbitKind,
  type StrangeHost,
} from '../../system/agents/broker-world.ts';

const typeName = 'OS::Heat::OrderedConfig';
const hello = { hello: true, facts: { rack: 'a' } };

for (const kind of [rabbitKind, natsKind]) {
  const found = await findHostBroker(kind);
  describe.skipIf(found === undefined)(`a host on ${kind.name}`, () => {
    if (!found) return;
    let rig: Rig;
    beforeAll(async () => {
      rig = await createBrokerRig(found);
    });
    afterAll(async () => {
      await rig.dispose();
      await found.server.stop();
    });

    const newHost = async (name: string) => {
      const { id } = await rig.host(name);
      const access = await grantTo(rig, id);
      const host = await connected(access);
      return { id, access, host };
    };
    const connected = async (access: Parameters<typeof kind.connect>[0]): Promise<StrangeHost> => {
      const host = await kind.connect(access);
      onTestFinished(() => host.close().catch(() => undefined));
      return host;
    };
    const offer = async (host: string, name: string, more: JsonObject = {}): Promise<string> => {
      const properties = { hosted_on: host, script: `echo ${name}`, ...more };
      const { resource } = await rig.request('create', { type: typeName, name, properties });
      await rig.event('deployment.queued', resource.id);
      return resource.id;
    };
    const nth = (host: StrangeHost, index: number) =>
      eventually(() => host.received[index], { what: `request ${index}`, last: () => host.received });
    const done = (id: string, more: JsonObject = {}): JsonObject => ({ id, status_code: 0, stdout: 'ok', ...more });

    it('receives its configs in order, one at a time, and its outputs reach the stack', async () => {
      const { id, host } = await newHost('web');
      const first = await offer(id, 'a', { outputs: [{ name: 'port' }] });
      const second = await offer(id, 'b');
      await host.send(hello);
      const a = await nth(host, 0);
      expect(a).toMatchObject({ name: 'a', config: 'echo a', deployment_id: first });
      await host.send({ id: a.id, progress: 'started' });
      await rig.event('deployment.started', first);
      // A repeat of the report changes nothing, and the next config waits for the answer.
      await host.send({ id: a.id, progress: 'started' });
      expect(host.received).toHaveLength(1);
      await host.send(done(a.id, { outputs: { port: 8080 } }));
      const b = await nth(host, 1);
      expect(b.name).toBe('b');
      await host.send(done(b.id, { status_code: 3, stderr: 'no' }));
      expect((await rig.final(first)).attributes).toMatchObject({ port: 8080, deploy_status_code: 0 });
      expect((await rig.final(second)).status).toBe('failed');
      const shown = await rig.ask(hostShow, { host: id });
      expect(shown).toMatchObject({ status: 'up', facts: { rack: 'a' }, pending: 0, unexpected_total: 0 });
      expect(shown.broker_access?.seen_at).toBeTypeOf('string');
    });

    it('that is idle receives a new config without asking', async () => {
      const { id, host } = await newHost('idle');
      await host.send(hello);
      await rig.event('host.up', id);
      const config = await offer(id, 'later');
      const request = await nth(host, 0);
      await host.send(done(request.id));
      expect((await rig.final(config)).status).toBe('complete');
      expect(host.received).toHaveLength(1);
    });

    it('that lost its request says hello and gets it again; a repeated answer changes nothing', async () => {
      const { id, access, host } = await newHost('lost');
      const config = await offer(id, 'once');
      await host.send(hello);
      const request = await nth(host, 0);
      await host.close();
      const again = await connected(access);
      await again.send(hello);
      expect((await nth(again, 0)).id).toBe(request.id);
      await again.send(done(request.id));
      await again.send(done(request.id));
      expect((await rig.final(config)).status).toBe('complete');
      // The answers of the next config show that the repeated one was handled.
      const next = await offer(id, 'next');
      const last = await eventually(() => again.received.find(({ name }) => name === 'next'));
      await again.send(done(last.id));
      expect((await rig.final(next)).status).toBe('complete');
      const stored = await eventually(async () => {
        const { messages } = await rig.ask(queueMessages, {
          project,
          queue: `host.${id}.responses`,
          include_claimed: true,
          echo: true,
          client_id: '',
        });
        const ids = messages.map(({ body }) => (body as { id?: string }).id);
        return ids.includes(last.id) && ids;
      });
      expect(stored).toEqual([request.id, last.id]);
    });

    it('that sends an answer in no accepted form fails its config, with every mistake named', async () => {
      const { id, host } = await newHost('wrong');
      const config = await offer(id, 'c');
      await host.send(hello);
      const request = await nth(host, 0);
      const reply = await host.send({ id: request.id, status_code: 'zero' });
      if (kind === natsKind) expect(reply).toMatchObject({ accepted: false });
      const { status, error } = await rig.final(config);
      expect(status).toBe('failed');
      expect(JSON.stringify(error)).toContain('status_code');
    });

    it('that sends too many bytes fails its config', async () => {
      const { id, host } = await newHost('long');
      const config = await offer(id, 'c');
      await host.send(hello);
      const request = await nth(host, 0);
      await host.send(done(request.id, { stdout: 'x'.repeat(300_000) }));
      const { status, error } = await rig.final(config);
      expect({ status, code: error?.code }).toMatchObject({ status: 'failed' });
      expect(JSON.stringify(error)).toContain('ANNEAL_CONFIGURATION_POST_BYTES');
    });

    it('cannot answer for another host', async () => {
      const [one, two] = [await newHost('one'), await newHost('two')];
      const config = await offer(one.id, 'c');
      await one.host.send(hello);
      const request = await nth(one.host, 0);
      await two.host.send(done(request.id, { status_code: 9 }));
      await eventually(async () => (await rig.ask(hostShow, { host: two.id })).unexpected_total === 1);
      await one.host.send(done(request.id));
      expect((await rig.final(config)).status).toBe('complete');
    });

    it.each<[string, (host: string) => Promise<unknown>]>([
      ['revoked', (host) => rig.ask(hostBrokerRevoke, { host })],
      ['replaced by newer ones', (host) => rig.ask(hostBrokerGrant, { host })],
      ['revoked by a new token of the host', (host) => rig.ask(hostTokenRenew, { host })],
    ])('is disconnected at once when its credentials are %s, and cannot return', async (_what, end) => {
      const { id, access, host } = await newHost('gone');
      await host.send(hello);
      await rig.event('host.up', id);
      await end(id);
      await host.ended;
      expect(host.farewells).toEqual([]);
      await expect(kind.connect(access)).rejects.toThrow(/ACCESS.REFUSED|Authorization Violation/i);
    });

    it('gets a last message and is disconnected when it is deleted, also while it works', async () => {
      const { host: joined } = await rig.ask(hostJoin, { project, host: 'deleted' });
      const access = await grantTo(rig, joined.id);
      const host = await connected(access);
      await offer(joined.id, 'unanswered');
      await host.send(hello);
      await nth(host, 0);
      await rig.ask(hostRemove, { project, host: joined.id });
      await host.ended;
      expect(host.farewells).toEqual([{ deleted: true, host_id: joined.id }]);
      await expect(kind.connect(access)).rejects.toThrow(/ACCESS.REFUSED|Authorization Violation/i);
    });

    // The last test, because it kills the broker.
    it('gets its request after a restart of the broker; a deletion meanwhile revokes later', async () => {
      const [{ id, access, host }, gone] = [await newHost('back'), await newHost('gone meanwhile')];
      const config = await offer(id, 'c');
      await host.send(hello);
      const request = await nth(host, 0);
      await found.server.kill();
      await Promise.all([host.ended, gone.host.ended]);
      await rig.ask(hostTokenRenew, { host: gone.id });
      expect((await rig.ask(hostShow, { host: gone.id })).broker_access).toBeUndefined();
      await found.server.start();
      const again = await eventually(() => connected(access).catch(() => undefined));
      // Anneal may reconnect after its host, so the host says hello until it has its request.
      await eventually(
        () =>
          again.received.length > 0
            ? true
            : again.send(hello).then(
                () => undefined,
                () => undefined,
              ),
        {
          what: 'the request after the restart',
        },
      );
      expect(again.received[0]?.id).toBe(request.id);
      await again.send(done(request.id));
      expect((await rig.final(config)).status).toBe('complete');
      await eventually(
        () =>
          kind.connect(gone.access).then(
            (left) => left.close().then(() => undefined),
            () => true,
          ),
        {
          what: 'the revocation after the restart',
        },
      );
    });
  });
}
