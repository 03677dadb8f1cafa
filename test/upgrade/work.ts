/** Work that is in flight during an upgrade, and the checks that none of it is lost. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Client } from '@anneal/client/connect.ts';
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle } from '../e2e/server.ts';

const within = 180_000;
const configs = [1, 2, 3, 4, 5, 6];
/** The configs that wait until the check opens their gate. */
const gated = [3, 5] as const;
const types = ['stack.#', 'resource.#', 'deployment.#', 'host.#'];

/** A listener that refuses all events until it is opened. */
export async function startGatedListener(): Promise<{
  readonly url: string;
  /** The ids of events that it took, in order, by subject. */
  readonly taken: Map<string, string[]>;
  refused: number;
  isOpen: boolean;
  close(): void;
}> {
  const taken = new Map<string, string[]>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (!listener.isOpen) {
        listener.refused += 1;
        response.writeHead(503).end();
        return;
      }
      const { id, subject = '' } = JSON.parse(body) as AnnealEvent;
      taken.set(subject, [...(taken.get(subject) ?? []), id]);
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const listener = { url, taken, refused: 0, isOpen: false, close: () => void server.close() };
  return listener;
}
export type Listener = Awaited<ReturnType<typeof startGatedListener>>;

/** One machine whose configs run one after the other. Each writes its begin and its end into a file. */
export function templateOfWork(folder: string): string {
  const lines = configs.flatMap((number) => [
    `  config${number}:`,
    '    type: OS::Heat::OrderedConfig',
    '    properties:',
    '      hosted_on: { get_resource: server }',
    '      script: |',
    '        #!/bin/sh',
    `        echo begin ${number} >> ${folder}/configs`,
    ...(gated.some((each) => each === number)
      ? [`        until [ -e ${folder}/open-${number} ]; do sleep 0.1; done`]
      : []),
    `        echo end ${number} >> ${folder}/configs`,
    ...(number > 1 ? [`    depends_on: config${number - 1}`] : []),
  ]);
  return [
    'heat_template_version: 2016-10-14',
    'resources:',
    '  server:',
    '    type: OS::Nova::Server',
    '    properties: { image: debian-12, flavor: baremetal }',
    ...lines,
    '',
  ].join('\n');
}

export const openGate = (folder: string, number: (typeof gated)[number]): Promise<void> =>
  writeFile(join(folder, `open-${number}`), '');

const linesOf = async (folder: string): Promise<string[]> =>
  (await readFile(join(folder, 'configs'), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

/** Waits until a config runs. */
export const begun = (folder: string, number: number): Promise<unknown> =>
  eventually(async () => (await linesOf(folder)).includes(`begin ${number}`), { within, what: `config ${number}` });

/** Begins the work. Resolves when the third config runs, and the listener has refused an event. */
export async function beginWork(client: Client, folder: string, listener: Listener): Promise<string> {
  const { subscription } = await client.subscriptions.create({ name: 'upgrade', url: listener.url, types });
  await client.stacks.create({ name: 'work', bundle: bundle(templateOfWork(folder)) });
  await begun(folder, 3);
  await eventually(() => listener.refused > 0, { within, what: 'a refused event' });
  return subscription.id;
}

/** Waits until a stack has the status. @throws when the stack fails */
export async function reached(client: Client, stack: string, status: string): Promise<void> {
  let last: unknown;
  await eventually(
    async () => {
      const found = await client.stacks.show({ stack }).catch((error: unknown) => void (last = String(error)));
      if (!found) return false;
      last = [found.stack_status, found.stack_status_reason];
      if (found.stack_status.endsWith('FAILED')) throw new Error(`Stack ${stack}: ${found.stack_status_reason}`);
      return found.stack_status === status;
    },
    { within, what: `stack ${stack} being ${status}`, last: () => last },
  );
}

/** Each config ran at least once, none began before the one in front of it had ended. @throws naming the first fault */
export async function checkConfigs(folder: string): Promise<string> {
  const lines = await linesOf(folder);
  const first = (line: string): number => {
    const at = lines.indexOf(line);
    if (at < 0) throw new Error(`A config did not run: "${line}" is not in ${lines.join(', ')}.`);
    return at;
  };
  for (const number of configs) {
    if (first(`begin ${number}`) > first(`end ${number}`)) throw new Error(`Config ${number} ended before it began.`);
    if (number > 1 && first(`begin ${number}`) < first(`end ${number - 1}`)) {
      throw new Error(`Config ${number} began before config ${number - 1} had ended: ${lines.join(', ')}.`);
    }
  }
  const again = lines.length - 2 * configs.length;
  return `${configs.length} configs ran, in order${again > 0 ? `; ${again} lines are of repeats` : ', each once'}`;
}

/** All events of the log. */
async function logged(client: Client): Promise<AnnealEvent[]> {
  const events: AnnealEvent[] = [];
  for (;;) {
    const page = await client.events.list({ types, after: events.at(-1)?.id ?? 'beginning', limit: 1000 });
    if (page.length === 0) return events;
    events.push(...page);
  }
}

/** The listener gets every event of the log, the events of each subject in order. @throws naming what is missing */
export async function checkEvents(client: Client, listener: Listener, id: string): Promise<string> {
  listener.isOpen = true;
  await client.subscriptions.retry({ id });
  let missing: AnnealEvent[] = [];
  const events = await eventually(
    async () => {
      const all = await logged(client);
      missing = all.filter((event) => !listener.taken.get(event.subject ?? '')?.includes(event.id));
      return missing.length === 0 && all;
    },
    { within, what: 'every event with the listener', last: () => missing.slice(0, 5) },
  );
  for (const [subject, taken] of listener.taken) {
    const order = events.filter((event) => (event.subject ?? '') === subject).map((event) => event.id);
    const firsts = [...new Set(taken)].filter((each) => order.includes(each));
    if (firsts.join() !== order.join()) throw new Error(`The events of ${subject} came in another order.`);
  }
  return `${events.length} events arrived, those of each subject in order; the listener had refused ${listener.refused} requests`;
}
