/** /health/live, /health/ready and /metrics. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toFailure } from '@anneal/contracts/errors.ts';
import type { Registry } from 'prom-client';

/** A running server of health and metrics. */
export interface HealthServer {
  readonly url: string;
  /** Why the process is not ready, by the names of the checks that fail. Never rejects. */
  problems(): Promise<Readonly<Record<string, string>>>;
  stop(): Promise<void>;
}

/** Conditions for readiness, by name. Each rejects with the reason when it does not hold. */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

const answerMs = 2000;
/** A slower dependency counts as unavailable. A dependency that is merely slow must not make its service unready. */
const goneMs = 10_000;

/**
 * Runs a check in bounded time. A check that takes longer is not started again before it has answered. Until then its
 * last answer holds, as long as the dependency may be merely slow.
 */
function teller(check: () => Promise<void>): () => Promise<string> {
  let last = 'ok';
  let asking: Promise<string> | undefined;
  let askedAt = 0;
  const ask = async (): Promise<string> => {
    askedAt = performance.now();
    try {
      await check();
      last = 'ok';
    } catch (error) {
      last = toFailure(error).message;
    } finally {
      asking = undefined;
    }
    return last;
  };
  return async () => {
    asking ??= ask();
    const { promise, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(() => {
      const waitedMs = Math.round(performance.now() - askedAt);
      const late = `no answer within ${waitedMs} ms`;
      if (last !== 'ok') resolve(`${last} (${late})`);
      else resolve(waitedMs < goneMs ? last : late);
    }, answerMs);
    return Promise.race([asking, promise]).finally(() => clearTimeout(timer));
  };
}

/**
 * Serves health and metrics on a port of its own.
 * @throws Error when the address is in use
 */
export async function serveHealth(options: {
  host: string;
  port: number;
  checks: Checks;
  metrics: Registry;
}): Promise<HealthServer> {
  const { host, port, checks, metrics } = options;

  const tellers = Object.entries(checks).map(([name, check]) => [name, teller(check)] as const);
  const results = () => Promise.all(tellers.map(async ([name, tell]) => [name, await tell()] as const));
  const readiness = async (): Promise<{ ready: boolean; checks: Record<string, string> }> => {
    const all = await results();
    return { ready: all.every(([, result]) => result === 'ok'), checks: Object.fromEntries(all) };
  };

  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    const json = (status: number, body: unknown): void => answer(status, 'application/json', JSON.stringify(body));
    switch (request.url) {
      case '/health/live':
        json(200, { live: true });
        break;
      case '/health/ready':
        void readiness().then((result) => json(result.ready ? 200 : 503, result));
        break;
      case '/metrics':
        void metrics.metrics().then(
          (text) => answer(200, metrics.contentType, text),
          (error: unknown) => json(500, toFailure(error)),
        );
        break;
      default:
        json(404, { error: 'The paths are /health/live, /health/ready and /metrics.' });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host}:${address.port}`,
    problems: async () => Object.fromEntries((await results()).filter(([, result]) => result !== 'ok')),
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
