import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { RabbitAdmin } from './rabbitmq-admin.ts';

/** A management that answers each call with the next of these statuses, and with 204 after them. */
async function management(...statuses: number[]): Promise<{ admin: RabbitAdmin; calls: string[] }> {
  const calls: string[] = [];
  server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    response.writeHead(statuses.shift() ?? 204).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { admin: new RabbitAdmin(`http://anneal:secret@127.0.0.1:${port}`), calls };
}

let server: Server | undefined;
afterEach(() => server?.close());

describe('the management of RabbitMQ', () => {
  const user = 'DELETE /api/users/web1';
  const connections = 'DELETE /api/connections/username/web1';

  it('is called again after an error of its own', async () => {
    const { admin, calls } = await management(204, 500, 500);
    await admin.removeUser('web1');
    expect(calls).toEqual([user, connections, connections, connections]);
  });

  it('is called once when it refuses', async () => {
    const { admin, calls } = await management(401);
    await expect(admin.removeUser('web1')).rejects.toThrow(
      'Cannot remove the user web1: the management of the broker at',
    );
    expect(calls).toEqual([user]);
  });

  it('is named with its answer when its errors continue', async () => {
    const { admin, calls } = await management(503, 503, 503, 503);
    await expect(admin.removeUser('web1')).rejects.toThrow(/refused: it answered 503\.$/);
    expect(calls).toHaveLength(4);
  });
});
