/** Chooses the port, before any service starts, so that a busy port gives a clear error and not a stack trace. */
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';

const patienceMs = 5_000;
const againMs = 100;

/**
 * Port 0 means any free port. The port of the last run is used again if it is free, because running hosts know the
 * address.
 * @throws AnnealError Conflict naming --port.
 */
export async function choosePort(parameters: { host: string; port: number; dataDirectory: string }): Promise<number> {
  const { host, port, dataDirectory } = parameters;
  if (port > 65_535) throw new AnnealError('InvalidRequest', `--port must be at most 65535, not ${port}.`);
  if (port > 0) return probePatiently(host, port);
  const file = join(dataDirectory, 'port');
  const last = Number(await readFile(file, 'utf8').catch(() => '0'));
  const again = Number.isInteger(last) && last > 0 && last <= 65_535 ? probePatiently(host, last) : freePort(host);
  const chosen = await again.catch(() => freePort(host));
  await writeFile(file, String(chosen));
  return chosen;
}

/**
 * The port of health and metrics: the one after that of the API, so that an operator knows it. 0, any free port, when
 * another program has it.
 */
export const healthPortBeside = (port: number): Promise<number> =>
  port >= 65_535 ? Promise.resolve(0) : probePort('127.0.0.1', port + 1).catch(() => 0);

/**
 * Finds a port without a listener, below the range of outgoing connections. Otherwise an outgoing connection could take
 * it before the server listens.
 */
export async function freePort(host: string): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = await probePort(host, randomInt(15_000, 32_000)).catch(() => undefined);
    if (port !== undefined) return port;
  }
  return probePort(host, 0);
}

/** A killed server keeps its port until the system has ended its processes, so a busy port is tried for some seconds. */
async function probePatiently(host: string, port: number): Promise<number> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await probePort(host, port);
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await delay(againMs);
    }
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof AnnealError && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';

/** Resolves with the port when nothing listens on it. 0 means any. @throws AnnealError Conflict naming --port. */
export function probePort(host: string, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => {
    const reasons: Readonly<Record<string, readonly [string, string]>> = {
      EADDRINUSE: [
        `Cannot listen on ${host}:${port}: another program uses this port`,
        'Choose another port with --port <port>, or a free one with --port 0.',
      ],
      EACCES: [
        `Cannot listen on ${host}:${port}: this process lacks the permission`,
        'Choose a port above 1023 with --port <port>.',
      ],
      EADDRNOTAVAIL: [
        `Cannot listen on ${host}: this machine does not have that address`,
        'Choose an address of this machine with --host <address>.',
      ],
      ENOTFOUND: [
        `Cannot listen on ${host}: it is not an address`,
        'Choose an address of this machine with --host <address>.',
      ],
    };
    const [reason, remedy] = reasons[error.code ?? ''] ?? [];
    reject(
      reason === undefined ? error : new AnnealError('Conflict', `${reason}.`, { cause: error, details: { remedy } }),
    );
  });
  server.listen({ host, port, exclusive: true }, () => {
    const address = server.address();
    const found = typeof address === 'object' && address ? address.port : port;
    server.close(() => resolve(found));
  });
  return promise;
}
