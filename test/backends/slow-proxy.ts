/** A TCP proxy that delays the answers of a server, like a slow network or a busy database, or withholds them. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface SlowProxy {
  readonly port: number;
  /** Sets the delay of every later answer, in milliseconds. With Infinity, later answers never arrive. */
  lateMs: number;
  /** The number of answers that were withheld. */
  readonly withheld: number;
  /** Ends every connection. Later ones are served. */
  cut(): void;
  /** Ends every connection, and later ones at once, like a server that is down. */
  refuse(): void;
  /** Lets nothing through in either direction, and says nothing, like a network that swallows packets. */
  swallow(): void;
  /** Serves connections again, and lets through what was swallowed, as repeated packets do, also the ends of connections. */
  heal(): void;
  close(): Promise<void>;
}

export async function startSlowProxy(target: { host: string; port: number }): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  const proxy = { lateMs: 0, withheld: 0 };
  let healed: PromiseWithResolvers<void> | undefined;
  let isRefusing = false;
  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (isRefusing) {
      client.destroy();
      return;
    }
    const upstream = connect(target.port, target.host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      if (healed) socket.pause();
      const end = (): void => void (healed?.promise ?? Promise.resolve()).then(() => other.destroy());
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    client.on('data', (chunk: Buffer) => void upstream.write(chunk));
    // Each answer has its own delay, and answers stay in order.
    let last = Promise.resolve();
    upstream.on('data', (chunk: Buffer) => {
      if (proxy.lateMs === Infinity) {
        proxy.withheld += 1;
        return;
      }
      const due = new Promise<void>((resolve) => void setTimeout(resolve, proxy.lateMs));
      last = Promise.all([last, due]).then(() => void client.write(chunk));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const heal = (): void => {
    isRefusing = false;
    healed?.resolve();
    healed = undefined;
    for (const socket of sockets) socket.resume();
  };
  return Object.assign(proxy, {
    port: (server.address() as AddressInfo).port,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    refuse() {
      isRefusing = true;
      for (const socket of sockets) socket.destroy();
    },
    swallow() {
      healed ??= Promise.withResolvers();
      for (const socket of sockets) socket.pause();
    },
    heal,
    async close() {
      heal();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
}
