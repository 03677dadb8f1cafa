/** The wait of another client while the server works on a large stack. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle, startServer, type TestServer } from '../e2e/server.ts';
import { percentiles, type Bench, type Row } from './report.ts';

/** Polls `GET /` in a thread of its own, so that the work of this process delays no sample. */
async function openPoller(url: string) {
  const worker = new Worker(new URL('neighbour-poll.ts', import.meta.url), { workerData: { url } });
  await once(worker, 'message');
  return {
    /** The milliseconds that each request waited since the last call. */
    async take(): Promise<number[]> {
      worker.postMessage('take', []);
      const [samples] = (await once(worker, 'message')) as [number[]];
      return samples;
    },
    close: () => worker.terminate(),
  };
}

/** One resource and its aliases, because a template has at most 512 KiB. */
function template(count: number, changed: boolean): string {
  const first = `  r0: &r {type: OS::Heat::TestResource, properties: {value: ${changed ? 'after' : 'before'}}}`;
  const others = Array.from({ length: count - 1 }, (_, index) => `  r${index + 1}: *r`);
  return ['heat_template_version: 2018-08-31', 'resources:', first, ...others, ''].join('\n');
}

async function ended(server: TestServer, name: string): Promise<void> {
  const within = 600_000;
  await eventually(
    async () => {
      const stack = await server.client.stacks.show({ stack: name }).catch(() => undefined);
      if (stack?.stack_status.endsWith('FAILED')) throw new Error(`${name}: ${stack.stack_status_reason}`);
      return stack === undefined || stack.stack_status.endsWith('COMPLETE');
    },
    { within, what: `the end of the action of ${name}` },
  );
}

export const neighbourBench: Bench = {
  name: 'neighbour',
  measures: 'server',
  notes: [
    'A thread sends GET / every 10 ms, whatever happens to earlier ones; a row has the waits of a phase.',
    'The server is one process with every service, on the embedded broker and store. Goal: p99 below 50 ms.',
  ],
  backends: ['embedded'],
  async run({ quick, say, server: sources }) {
    const count = quick ? 2_000 : 10_000;
    const server = await startServer({ lab: 0, flags: [], sources });
    const poller = await openPoller(`${server.url}/`);
    const rows: Row[] = [];
    const phase = async (name: string, run: () => Promise<unknown>): Promise<void> => {
      await poller.take();
      await run();
      const waits = await poller.take();
      const worst = Math.max(...waits);
      const row = { bench: 'neighbour', case: name, backend: 'embedded', n: count, unit: 'ms' };
      rows.push({ ...row, metric: 'longest wait', value: worst, ...percentiles(waits) });
      say(
        `${name}: p99 ${percentiles(waits).p99.toFixed(1)} ms, longest ${worst.toFixed(1)} ms, ${waits.length} requests`,
      );
    };
    const stack = 'large';
    const { stacks } = server.client;
    try {
      await phase('no work', () => new Promise((resolve) => setTimeout(resolve, 2_000)));
      await phase('create', async () => {
        await stacks.create({ name: stack, bundle: bundle(template(count, false)) });
        await ended(server, stack);
      });
      await phase('list the resources', () => stacks.resources({ stack }));
      await phase('list the events', () => stacks.events({ stack }));
      await phase('check', async () => {
        await server.client.actions.act({ stack, action: { kind: 'check' } });
        await ended(server, stack);
      });
      await phase('update all', async () => {
        await stacks.update({ stack, bundle: bundle(template(count, true)) });
        await ended(server, stack);
      });
      await phase('delete', async () => {
        await stacks.delete({ stack });
        await ended(server, stack);
      });
      await phase('after the deletion', () => new Promise((resolve) => setTimeout(resolve, 5_000)));
      return rows;
    } finally {
      await poller.close();
      await server.dispose();
    }
  },
};
