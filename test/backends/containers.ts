/**
 * Servers in containers, when a container engine answers (`ANNEAL_TEST_CONTAINERS=false` uses none). An error is printed on
 * standard error, and the caller tries its next way.
 *
 * C1 A container keeps its port and its data from a kill to the next start.
 * C2 No container outlives the test run: it is removed when the process that started it has ended.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { freeLocalPort } from './free-port.ts';
import type { BackendServer } from './backend.ts';

/** A running engine answers at once; an engine that hangs counts as missing. */
const engineMs = 5_000;
/** Includes the download of an image. */
const startMs = 180_000;
const againMs = 60_000;

interface Container {
  readonly image: string;
  /** Port inside the container. */
  readonly port: number;
  readonly command?: string[];
  readonly urlOf: (address: string) => string;
  readonly isReady: (address: { host: string; port: number }) => Promise<boolean>;
}

interface ContainerServer extends BackendServer {
  /** Runs a program in the container. */
  run(words: string[]): Promise<void>;
}

const explain = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Undefined when an engine answers, else the reason why none is used. */
export async function whyNoContainers(): Promise<string | undefined> {
  if (process.env['ANNEAL_TEST_CONTAINERS'] === 'false') return 'ANNEAL_TEST_CONTAINERS is false';
  const timer = new AbortController();
  const late = delay(engineMs, 'late', { signal: timer.signal });
  late.catch(() => undefined);
  try {
    const { getContainerRuntimeClient } = await import('testcontainers');
    const answer = await Promise.race([getContainerRuntimeClient(), late]);
    return answer === 'late' ? `the container engine says nothing for ${engineMs / 1000} seconds` : undefined;
  } catch (error) {
    return explain(error);
  } finally {
    timer.abort();
  }
}

export async function startContainer(parameters: Container): Promise<ContainerServer | undefined> {
  if ((await whyNoContainers()) !== undefined) return undefined;
  try {
    return await started(parameters);
  } catch (error) {
    process.stderr.write(`${parameters.image} did not start in a container: ${explain(error)}\n`);
    return undefined;
  }
}

async function started({ image, port, command, urlOf, isReady }: Container): Promise<ContainerServer> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const { container: engine } = await getContainerRuntimeClient();
  const hostPort = await freeLocalPort();
  const container = new GenericContainer(image)
    .withExposedPorts({ container: port, host: hostPort })
    .withStartupTimeout(startMs);
  const running = await (command ? container.withCommand(command) : container).start();
  const host = running.getHost();
  const handle = engine.getById(running.getId());

  const ready = async (withinMs: number): Promise<void> => {
    const deadline = performance.now() + withinMs;
    while (!(await isReady({ host, port: hostPort }))) {
      if (performance.now() > deadline) throw new Error(`not ready after ${withinMs / 1000} seconds`);
      await delay(100);
    }
  };
  const stop = async (): Promise<void> => {
    await running.stop({ timeout: 0, remove: true, removeVolumes: true });
  };
  try {
    await ready(againMs);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: urlOf(`${host}:${hostPort}`),
    mayBeKilled: true,
    async kill() {
      await handle.kill({ signal: 'SIGKILL' });
      await handle.wait();
    },
    async start() {
      await handle.start();
      await ready(againMs);
    },
    stop,
    async run(words) {
      const { exitCode, output } = await running.exec(words);
      if (exitCode !== 0) throw new Error(`${words.join(' ')} ended with ${exitCode}: ${output}`);
    },
  };
}
