/** Starts every service once in a separate process with plain `node`, waits until it is ready, and stops it. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceNames } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from './backends/free-port.ts';

async function startOnce(name: string): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), `anneal-${name}-`));
  const healthPort = await freeLocalPort();
  const child = spawn(process.execPath, [`services/${name}/main.ts`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      ANNEAL_DATA: data,
      ANNEAL_LOG_LEVEL: 'warn',
      ANNEAL_HEALTH_PORT: String(healthPort),
      ANNEAL_GATEWAY_PORT: String(await freeLocalPort()),
      ANNEAL_GATEWAY_ADMIN_PASSWORD: 'only-for-this-test',
    },
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  let last: unknown;
  try {
    await eventually(
      async () => {
        if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode} before it was ready`);
        try {
          const signal = AbortSignal.timeout(5_000);
          const answer = await fetch(`http://127.0.0.1:${healthPort}/health/ready`, { signal });
          last = [answer.status, await answer.text()];
          return answer.ok ? true : undefined;
        } catch (error) {
          last = String(error instanceof Error ? (error.cause ?? error) : error);
          return undefined;
        }
      },
      { what: `${name} being ready`, last: () => last },
    );
    child.kill('SIGTERM');
    const code = await ended;
    if (code !== 0) throw new Error(`${name} ended with ${code} after SIGTERM`);
    process.stdout.write(`${name}: became ready and stopped on SIGTERM\n`);
  } finally {
    child.kill('SIGKILL');
    await rm(data, { recursive: true, force: true });
  }
}

for (const name of serviceNames) await startOnce(name);

// The agent needs a host, so check only that it loads and prints its help.
const agent = spawnSync(process.execPath, ['services/agent/main.ts', '--help'], { encoding: 'utf8' });
if (agent.status !== 0) throw new Error(`the agent ended with ${agent.status}: ${agent.stderr}`);
process.stdout.write('agent: prints its help\n');
