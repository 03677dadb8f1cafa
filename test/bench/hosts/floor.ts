/** The floor: the emulated hosts against a bare HTTP server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Row } from '../report.ts';
import { BenchChild } from './child.ts';
import type { FleetAnswer, FleetQuestion } from './fleet-process.ts';
import type { FloorAnswer } from './floor-process.ts';

export async function floorRows({ quick }: { quick: boolean }): Promise<Row[]> {
  const rows: Row[] = [];
  for (const n of quick ? [1, 100] : [1, 10, 100, 1_000]) rows.push(...(await floorOf(n, quick ? 1_000 : 3_000)));
  return rows;
}

async function floorOf(n: number, milliseconds: number): Promise<Row[]> {
  const server = new BenchChild<{ kind: 'use' }, FloorAnswer>('./floor-process.ts', {});
  const fleet = new BenchChild<FleetQuestion, FleetAnswer>('./fleet-process.ts', {});
  try {
    const [{ url }] = await Promise.all([server.answer('ready'), fleet.answer('ready')]);
    const hosts = Array.from({ length: n }, (_, index) => ({ id: String(index), token: 'floor' }));
    fleet.tell({ kind: 'start', url, project: 'floor', hosts });
    await fleet.ask({ kind: 'await', hellos: n }, 'reached');
    await delay(500);
    await fleet.ask({ kind: 'take' }, 'seen');
    const before = await server.ask({ kind: 'use' }, 'use');
    const start = performance.now();
    await delay(milliseconds);
    const { samples, calls } = await fleet.ask({ kind: 'take' }, 'seen');
    const seconds = (performance.now() - start) / 1000;
    const after = await server.ask({ kind: 'use' }, 'use');
    const row = { bench: 'hosts', case: 'floor', backend: 'bare HTTP', n };
    return [
      {
        ...row,
        metric: 'configs',
        unit: '/s',
        value: samples.length / seconds,
        cpu: (after.cpuMicros - before.cpuMicros) / samples.length,
      },
      { ...row, metric: 'HTTP requests', unit: '/s', value: calls / seconds },
    ];
  } finally {
    await fleet.stop();
    await server.stop();
  }
}
