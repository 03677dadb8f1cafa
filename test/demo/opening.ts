/** Acts 1 and 2: the server with its lab, and a listener that is someone else's program. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type Client } from '@anneal/client/connect.ts';
import { envelopeSchema } from '@anneal/contracts/envelope.ts';
import type { AnnealEvent } from '@anneal/client/events.ts';
import { z } from 'zod';
import { cliProgram, type Children } from './children.ts';
import { print, type Scene } from './scene.ts';
import { claim, fromListener, heading, say, until } from './stage.ts';

export const machines = 6;

const credentials = z.object({
  auth_url: z.string(),
  username: z.string(),
  password: z.string(),
  project_name: z.string(),
});

/** Gives the client when the server stands. */
export async function startServer(parameters: {
  children: Children;
  dataDirectory: string;
  flags: readonly string[];
  signal: AbortSignal;
  log: (line: string) => void;
}): Promise<Client> {
  const { children, dataDirectory, flags, signal, log } = parameters;
  const processes = flags.includes('--separate')
    ? 'each service in a process of its own'
    : 'all services in one process';
  heading(`Starting Anneal: ${processes}, in a fresh folder`);
  const printed: string[] = [];
  let ended: number | null | undefined;
  const child = children.stay({
    program: cliProgram,
    words: ['serve', '--data', dataDirectory, '--port', '0', '--lab', String(machines), ...flags],
    onLine: (line) => printed.push(line),
    onErrorLine: log,
  });
  child.once('exit', (status) => (ended = status));
  await until({
    fact: 'the server stands',
    seconds: 240,
    signal,
    look: () => ({ printed, ended }),
    holds: (seen) => {
      claimAlive(seen.ended);
      return seen.printed.some((line) => line.includes('Ctrl-C'));
    },
  });
  for (const line of printed) say(line);
  const file = join(dataDirectory, 'credentials.json');
  const login = credentials.parse(JSON.parse(await readFile(file, 'utf8')));
  const { auth_url: authUrl, username, password, project_name: project } = login;
  return connect({ authUrl, username, password, project }, { signal });
}

function claimAlive(ended: number | null | undefined): void {
  if (ended !== undefined) throw new Error(`The server ended at its start, exit status ${ended}.`);
}

export async function showLab(scene: Scene): Promise<void> {
  heading(`1. A lab of ${machines} bare-metal machines behind a Redfish endpoint, enrolled as nodes`);
  const { url } = z
    .object({ url: z.string() })
    .parse(JSON.parse(await readFile(join(scene.dataDirectory, 'lab', 'lab.json'), 'utf8')));
  const service = z
    .object({ RedfishVersion: z.string() })
    .parse(await (await fetch(new URL('/redfish/v1/', url), { signal: scene.signal })).json());
  say(`Each machine is driven over plain Redfish (${service.RedfishVersion}) at ${url}/redfish/v1/, as real ones are.`);
  const nodes = await until({
    fact: `${machines} nodes are available`,
    seconds: 120,
    signal: scene.signal,
    look: async () => (await scene.client.nodes.list()).map(({ name, provision_state: state }) => ({ name, state })),
    holds: (seen) => seen.length === machines && seen.every(({ state }) => state === 'available'),
  });
  await print(scene, ['node', 'list']);
  claim(nodes.length === machines, `${machines} nodes are enrolled and available`);
}

const delivery = z.union([z.object({ event: envelopeSchema }), z.object({ refused: z.string() })]);

export async function startListener(parameters: {
  client: Client;
  children: Children;
  signal: AbortSignal;
  received: AnnealEvent[];
  onRefused: () => void;
}): Promise<void> {
  const { client, children, signal, received, onRefused } = parameters;
  heading('2. A listener, a process of its own, subscribed by webhook');
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  let url: string | undefined;
  children.stay({
    program: fileURLToPath(new URL('./listener.ts', import.meta.url)),
    words: [],
    environment: { WEBHOOK_SECRET: secret },
    onLine(line) {
      if (line.startsWith('listening ')) {
        url = line.slice('listening '.length);
        return;
      }
      const said = delivery.parse(JSON.parse(line));
      if ('refused' in said) {
        onRefused();
        fromListener(`REFUSED: ${said.refused}`);
        return;
      }
      received.push(said.event);
      fromListener(describe(said.event));
    },
    onErrorLine: (line) => fromListener(line),
  });
  await until({
    fact: 'the listener listens',
    seconds: 60,
    signal,
    look: () => url,
    holds: (seen) => seen !== undefined,
  });
  const types = ['stack.#', 'deployment.#', 'host.up', 'node.power.changed'];
  const { subscription } = await client.subscriptions.create({ name: 'demo', url: url ?? '', types, secret });
  say(`It verifies the signature of each delivery (Standard Webhooks) and prints the event: ${types.join(', ')}.`);
  claim(subscription.status === 'active', `the subscription ${subscription.id} is active`, subscription);
}

function describe(event: AnnealEvent): string {
  const data = typeof event.data === 'object' && event.data !== null ? (event.data as Record<string, unknown>) : {};
  const text = (...names: readonly string[]): string =>
    names.flatMap((name) => (typeof data[name] === 'string' && data[name] !== '' ? [data[name]] : [])).join(' · ');
  const about =
    text('stack_name') ||
    text('resource_name', 'host_name', 'action') ||
    text('name', 'power_state') ||
    event.subject ||
    '';
  return `${event.time.slice(11, 23)}  ${event.type}  ${about}`;
}
