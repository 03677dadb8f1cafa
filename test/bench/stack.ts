/** Whole stacks with the real server: gateway, templating, scheduling, their queues and journals. */
import { bundle, deleted, settled, startServer } from '../e2e/server.ts';
import { fleet } from '../e2e/templates.ts';
import { join } from 'node:path';
import type { Bench, Row } from './report.ts';

function values(count: number, shape: 'flat' | 'chain'): string {
  const lines = ['heat_template_version: 2016-10-14', 'resources:'];
  for (let index = 0; index < count; index += 1) {
    const value = shape === 'flat' || index === 0 ? String(index) : `{get_attr: [v${index - 1}, value]}`;
    lines.push(`  v${index}: {type: OS::Heat::Value, properties: {value: ${value}}}`);
  }
  return lines.join('\n');
}

export const stackBench: Bench = {
  name: 'stack',
  notes: [
    'The server is a process of its own on the embedded backends; times are from the client’s request to the settled stack, read every 10 ms.',
    'fleet: simulated machines of the lab, power-on and boot included, every script a real process.',
  ],
  backends: ['embedded'],
  async run({ quick }) {
    const hosts = quick ? 5 : 50;
    const server = await startServer({ lab: hosts });
    const rows: Row[] = [];
    const measure = async (name: string, template: string, n: number): Promise<void> => {
      const start = performance.now();
      await server.client.stacks.create({ name, bundle: bundle(template) });
      const stack = await settled(server, name, 300_000);
      const created = performance.now() - start;
      if (stack.stack_status !== 'CREATE_COMPLETE') throw new Error(`${name}: ${stack.stack_status_reason}`);
      await server.client.stacks.delete({ stack: name });
      await deleted(server, name, 300_000);
      const row = { bench: 'stack', backend: 'embedded', n, case: name, unit: 's' };
      rows.push(
        { ...row, metric: 'create', value: created / 1000 },
        { ...row, metric: 'delete', value: (performance.now() - start - created) / 1000 },
      );
    };
    try {
      const count = quick ? 100 : 1000;
      await measure('warm-up', values(10, 'flat'), 10);
      rows.length = 0;
      await measure(`flat-${count}`, values(count, 'flat'), count);
      await measure(`chain-${count / 2}`, values(count / 2, 'chain'), count / 2);
      await measure(
        `fleet-${hosts}x10`,
        fleet({ hosts, configsPerHost: 10, trace: join(server.data, 'trace') }),
        hosts * 10,
      );
    } finally {
      await server.dispose();
    }
    return rows;
  },
};
