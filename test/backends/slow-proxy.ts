/** A TCP proxy that delays the answers of a server, like a slow network or a busy database. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface SlowProxy {
  readonly port: number;
  /** Sets the delay of every later answer, in milliseconds. */
  lateMs: number;
  close(): Promise<void>;
}

export async function startSlowProxy(target: { host: string; port: number }): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  const proxy = { lateMs: 0 };
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    // Each answer has its own delay, and answers stay in order.
    let last = Promise.resolve();
    upstream.on('data', (chunk: Buffer) => {
      const due = new Promise<void>((resolve) => void setTimeout(resolve, proxy.lateMs));
      last = Promise.all([last, due]).then(() => void client.write(chunk));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(proxy, {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
}
