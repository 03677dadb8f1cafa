/** Hosts that use a broker over TLS. */
import { readFile } from 'node:fs/promises';
import type { Rig } from '@anneal/configuration/testing/running-service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { makeCertificates } from '../../backends/certificates.ts';
import { createBrokerRig, findHostBroker, grantTo, natsKind, rabbitKind } from './broker-world.ts';

const certificates = await makeCertificates({ client: 'anneal' });
afterAll(() => certificates?.remove());

for (const kind of [rabbitKind, natsKind]) {
  const found = await findHostBroker(kind, certificates ? { tls: certificates } : { missing: 'openssl is not here.' });
  describe.skipIf(found === undefined)(`a host on ${kind.name} over TLS`, () => {
    if (!found || !certificates) return;
    let rig: Rig;
    beforeAll(async () => {
      rig = await createBrokerRig(found);
    });
    afterAll(async () => {
      await rig.dispose();
      await found.server.stop();
    });

    it('gets an address without files of the server, and runs a config', async () => {
      const { id } = await rig.host('web');
      const access = await grantTo(rig, id);
      expect(access.url).toMatch(/^(amqps|tls):\/\/127\.0\.0\.1:\d+(\/hosts)?\/?$/);
      const host = await kind.connect(access, await readFile(certificates.ca, 'utf8'));
      onTestFinished(() => host.close().catch(() => undefined));
      await host.send({ hello: true });
      const properties = { hosted_on: id, script: 'true' };
      const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', name: 'c', properties });
      const request = await eventually(() => host.received[0], { what: 'the request' });
      await host.send({ id: request.id, status_code: 0 });
      expect((await rig.final(resource.id)).status).toBe('complete');
    });

    it('refuses a broker that another authority vouches for', async () => {
      const { id } = await rig.host('careful');
      const access = await grantTo(rig, id);
      const stranger = await readFile(certificates.strangeCa, 'utf8');
      await expect(kind.connect(access, stranger)).rejects.toThrow(/certificate|self.signed|disconnect/i);
    });
  });
}
