/** Hosts on a broker while replicas of the service come and go. */
import { brokerLeaseSeconds } from '@anneal/configuration/broker/bridge.ts';
import { claimed, startService, type Rig } from '@anneal/configuration/testing/running-service.ts';
import { hostBrokerRevoke, hostShow, hostTokenRenew } from '@anneal/contracts/calls/hosts.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createBrokerRig, DiligentHost, findHostBroker, grantTo, natsKind, rabbitKind } from './broker-world.ts';

const type = 'OS::Heat::OrderedConfig';

for (const kind of [rabbitKind, natsKind]) {
  const found = await findHostBroker(kind);
  describe.skipIf(found === undefined)(`replicas and hosts on ${kind.name}`, () => {
    if (!found) return;
    let rig: Rig;
    let aheadMs = 0;
    beforeAll(async () => {
      rig = await createBrokerRig(found, { now: () => new Date(Date.now() + aheadMs) });
    });
    afterAll(async () => {
      await rig.dispose();
      await found.server.stop();
    });
    const config = async (host: string, name: string): Promise<string> => {
      const { resource } = await rig.request('create', { type, name, properties: { hosted_on: host, script: name } });
      return resource.id;
    };

    it('run each config once and in order while one of two replicas stops and starts', async () => {
      const context = await createTestContext({ name: 'configuration', ...sharedWith(rig) });
      const names = Array.from({ length: 8 }, (_, index) => `c${index}`);
      const hosts = await Promise.all(
        ['a', 'b', 'c'].map(async (name) => {
          const { id } = await rig.host(name);
          const program = new DiligentHost(kind, await grantTo(rig, id));
          onTestFinished(() => program.stop());
          return { id, program };
        }),
      );
      let second = await startService(context, found.environment);
      const ids: string[] = [];
      for (const name of names) {
        for (const { id } of hosts) ids.push(await config(id, name));
        await second.stop();
        second = await startService(context, found.environment);
      }
      const states = await Promise.all(ids.map(async (id) => (await rig.final(id)).status));
      expect(new Set(states)).toEqual(new Set(['complete']));
      for (const { program } of hosts) expect(program.ran).toEqual(names);
      await second.stop();
    });

    it('changes nothing when a message arrives after its credentials have ended', async () => {
      const { id } = await rig.host('late');
      const access = await grantTo(rig, id);
      const host = await kind.connect(access);
      onTestFinished(() => host.close().catch(() => undefined));
      await host.send({ hello: true });
      const resource = await config(id, 'late');
      const request = await eventually(() => host.received[0], { what: 'the request' });
      // No replica reaches the broker now: the message waits there (RabbitMQ), or is lost (NATS).
      await rig.restart(unreachable(found.environment));
      await host.send({ id: request.id, status_code: 9 }).catch(() => undefined);
      await rig.ask(hostTokenRenew, { host: id });
      await rig.restart(found.environment);
      await host.ended;
      expect((await rig.ask(hostShow, { host: id })).unexpected_total).toBe(0);
      // After the lease the host goes on over HTTP with its new token, and this answer is the first that counts.
      expect(await rig.claim(id)).toBeUndefined();
      aheadMs += (brokerLeaseSeconds + 1) * 1000;
      const again = await claimed(rig, id);
      expect(again.request.id).toBe(request.id);
      await rig.post(id, { id: request.id, status_code: 0 });
      expect((await rig.final(resource)).status).toBe('complete');
    });

    it('revokes through any replica', async () => {
      const context = await createTestContext({ name: 'configuration', ...sharedWith(rig) });
      const second = await startService(context, found.environment);
      const { id } = await rig.host('revoked');
      const access = await grantTo(rig, id);
      const host = await kind.connect(access);
      onTestFinished(() => host.close().catch(() => undefined));
      await second.stop();
      await rig.ask(hostBrokerRevoke, { host: id });
      await host.ended;
      await expect(kind.connect(access)).rejects.toThrow(/ACCESS.REFUSED|Authorization Violation/i);
    });
  });
}

/** The settings of a broker that this replica cannot reach. */
const unreachable = (environment: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, value.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1')]),
  );

const sharedWith = ({ context: { bus, store, directory } }: Rig) => ({ bus, store, directory });
