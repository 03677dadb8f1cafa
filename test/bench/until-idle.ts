/** Resolves when a server has finished what earlier work left to it: a second under a tenth of a core. */
import { setTimeout as delay } from 'node:timers/promises';

const limitMs = 600_000;

export async function untilIdle(server: { use(): Promise<{ readonly cpuMicros: number }> }): Promise<void> {
  const end = performance.now() + limitMs;
  for (let last = -Infinity; ;) {
    const { cpuMicros } = await server.use();
    if (cpuMicros - last < 100_000) return;
    if (performance.now() > end) throw new Error('The server does not become idle.');
    last = cpuMicros;
    await delay(1_000);
  }
}
