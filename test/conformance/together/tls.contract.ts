/** The bus over TLS on real servers: verification of the broker, and logins by certificate and by password. */
import { mintTestMessage, work } from '@anneal/bus/conformance/messages.ts';
import { openTestBus } from '@anneal/bus/conformance/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { openStore } from '@anneal/store/open.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { BackendServer, MissingBackend } from '../../backends/backend.ts';
import { makeCertificates } from '../../backends/certificates.ts';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq, type RabbitmqServer } from '../../backends/rabbitmq.ts';
import { reportSkipped } from '../../backends/missing.ts';

const certificates = await makeCertificates({ client: 'anneal' });
const tls = certificates!;
if (!certificates) reportSkipped('the bus over TLS', 'There is no openssl on the PATH.');
afterAll(() => certificates?.remove());

/** Sends and receives one message through the bus. */
async function works(url: string): Promise<void> {
  const store = await openStore({ url: 'sqlite::memory:' });
  let bus: Bus | undefined;
  try {
    bus = await openTestBus({ url, store });
    const seen: unknown[] = [];
    await bus.consume('test.tls', async ({ message }) => void seen.push(message.data));
    await bus.send({ queue: 'test.tls', messages: [mintTestMessage(work, { data: { n: 1 } })] });
    await vi.waitFor(() => expect(seen).toEqual([{ n: 1 }]));
  } finally {
    await bus?.close();
    await store.close();
  }
}

const here = <T extends BackendServer>(found: T | MissingBackend): T => {
  if ('missing' in found) throw new Error(found.missing);
  return found;
};
const unproved = { code: 'Unauthorized', message: expect.stringMatching(/certificate/i) as string };

const rabbitmq = certificates && (await findRabbitmq({ tls: certificates }));
describe.skipIf(!rabbitmq || 'missing' in rabbitmq)('RabbitMQ over TLS', () => {
  let server: RabbitmqServer;
  let host: string;
  beforeAll(async () => {
    server = here(rabbitmq!);
    host = server.secureHost ?? '';
    await server.control('add_user', 'anneal', 'p@ss word');
    await server.control('set_permissions', 'anneal', '.*', '.*', '.*');
    // A login by certificate must not succeed as the default user.
    await server.control('delete_user', 'guest');
  });
  afterAll(() => server.stop());

  it('logs in with a password on a connection to a verified server', () =>
    works(`amqps://anneal:p%40ss%20word@${host}?ca=${tls.ca}`));

  it('logs in with a certificate instead of a password', () =>
    works(`amqps://${host}?ca=${tls.ca}&cert=${tls.client.cert}&key=${tls.client.key}`));

  it('refuses a server with a certificate of another authority, and reports it at once', async () => {
    for (const query of ['', `?ca=${tls.strangeCa}`]) {
      await expect(works(`amqps://anneal:p%40ss%20word@${host}${query}`)).rejects.toMatchObject(unproved);
    }
    await works(`amqps://anneal:p%40ss%20word@${host}?verify=none`);
  });

  it('refuses a server whose certificate has another name', () =>
    expect(works(`amqps://anneal:p%40ss%20word@${host}?ca=${tls.ca}&servername=elsewhere`)).rejects.toMatchObject(
      unproved,
    ));

  it('reports a wrong password without showing it', async () => {
    const refused = works(`amqps://anneal:hunter2@${host}?ca=${tls.ca}`);
    await expect(refused).rejects.toMatchObject({ code: 'Unauthorized' });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('hunter2') as string });
  });
});

const plainNats = await findNats({ config: '' });
if (!('missing' in plainNats)) await plainNats.stop();
describe.skipIf(!certificates || 'missing' in plainNats)('NATS over TLS', () => {
  const config = (more: string): string =>
    `tls { cert_file: "${tls.server.cert}", key_file: "${tls.server.key}", ca_file: "${tls.ca}", ${more} }\n`;
  const serving = async (lines: string, use: (host: string) => Promise<void>): Promise<void> => {
    const server = here(await findNats({ config: lines }));
    try {
      await use(server.url.replace('nats://', ''));
    } finally {
      await server.stop();
    }
  };

  it('logs in with a password on a connection to a verified server', () =>
    serving(`${config('')}authorization { user: anneal, password: "p@ss word" }`, async (host) => {
      await works(`tls://anneal:p%40ss%20word@${host}?ca=${tls.ca}`);
      await expect(works(`tls://anneal:hunter2@${host}?ca=${tls.ca}`)).rejects.toMatchObject({ code: 'Unauthorized' });
    }));

  it('refuses a server with a certificate of another authority', () =>
    serving(config(''), async (host) => {
      for (const query of ['', `?ca=${tls.strangeCa}`]) {
        await expect(works(`tls://${host}${query}`)).rejects.toMatchObject(unproved);
      }
    }));

  it('presents a certificate to a server that requires one, which refuses clients without one', () =>
    serving(config('verify_and_map: true') + 'authorization { users: [{ user: "CN=anneal" }] }', async (host) => {
      await works(`tls://${host}?ca=${tls.ca}&cert=${tls.client.cert}&key=${tls.client.key}`);
      await expect(works(`tls://${host}?ca=${tls.ca}`)).rejects.toMatchObject({
        code: expect.stringMatching(/Unauthorized|Unavailable/) as string,
      });
    }));
});
