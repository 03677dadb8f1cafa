/** Steps 1 and 2: start the server with its lab, and a listener in a separate process. */
import { readCredentials, type Credentials } from '@anneal/cli/login.ts';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type Client } from '@anneal/client/connect.ts';
import { envelopeSchema } from '@anneal/contracts/envelope.ts';
import type { AnnealEvent } from '@anneal/client/events.ts';
import { z } from 'zod';
import { cliProgram, type Children } from './children.ts';
import { runAndPrint, type DemoContext } from './context.ts';
import { check, fromListener, heading, say, untilFact } from './report.ts';

export const machines = 6;

/** Starts the server. Resolves with a client when the server is ready. */
export async function startDemoServer(parameters: {
  children: Children;
  dataDirectory: string;
  flags: readonly string[];
  environment?: Record<string, string>;
  signal: AbortSignal;
  log: (line: string) => void;
}): Promise<Client> {
  const { children, dataDirectory, flags, environment = {}, signal, log } = parameters;
  const processes = flags.includes('--separate') ? 'one process per service' : 'all services in one process';
  heading(`Starting Anneal: ${processes}, in a new folder`);
  const printed: string[] = [];
  let ended: number | null | undefined;
  const child = children.start({
    program: cliProgram,
    args: ['serve', '--data', dataDirectory, ...flags],
    environment,
    onLine: (line) => printed.push(line),
    onErrorLine: log,
  });
  child.once('exit', (status) => (ended = status));
  await untilFact({
    fact: 'the server is ready',
    seconds: 240,
    signal,
    look: () => ({ printed, ended }),
    holds: (seen) => {
      checkAlive(seen.ended);
      return seen.printed.some((line) => line.includes('Ctrl-C'));
    },
  });
  for (const line of printed) say(line);
  const { auth_url: authUrl, username, password, project_name: project } = await readLogin(dataDirectory);
  return connect({ authUrl, username, password, project }, { signal });
}

/** The login that the server of the demo has written. */
export async function readLogin(dataDirectory: string): Promise<Credentials> {
  const login = await readCredentials(dataDirectory);
  if (!login) throw new Error(`The server wrote no credentials in ${dataDirectory}.`);
  return login;
}

function checkAlive(ended: number | null | undefined): void {
  if (ended !== undefined) throw new Error(`The server did not start: exit status ${ended}.`);
}

export async function showLab(demo: DemoContext): Promise<void> {
  heading(`1. A lab of ${machines} bare-metal machines behind a Redfish endpoint, enrolled as nodes`);
  const { url } = z
    .object({ url: z.string() })
    .parse(JSON.parse(await readFile(join(demo.dataDirectory, 'lab', 'lab.json'), 'utf8')));
  const service = z
    .object({ RedfishVersion: z.string() })
    .parse(await (await fetch(new URL('/redfish/v1/', url), { signal: demo.signal })).json());
  say(`Anneal controls each machine over Redfish (${service.RedfishVersion}) at ${url}/redfish/v1/, like a real one.`);
  const nodes = await untilFact({
    fact: `${machines} nodes are available`,
    seconds: 120,
    signal: demo.signal,
    look: async () => (await demo.client.nodes.list()).map(({ name, provision_state: state }) => ({ name, state })),
    holds: (seen) => seen.length === machines && seen.every(({ state }) => state === 'available'),
  });
  await runAndPrint(demo, ['node', 'list']);
  check(nodes.length === machines, `${machines} nodes are enrolled and available`);
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
  heading('2. A listener in a separate process, subscribed by webhook');
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  let url: string | undefined;
  children.start({
    program: fileURLToPath(new URL('./listener.ts', import.meta.url)),
    args: [],
    environment: { WEBHOOK_SECRET: secret },
    onLine(line) {
      if (line.startsWith('listening ')) {
        url = line.slice('listening '.length);
        return;
      }
      const result = delivery.parse(JSON.parse(line));
      if ('refused' in result) {
        onRefused();
        fromListener(`REFUSED: ${result.refused}`);
        return;
      }
      const event = result.event as AnnealEvent;
      received.push(event);
      fromListener(describe(event));
    },
    onErrorLine: (line) => fromListener(line),
  });
  await untilFact({
    fact: 'the listener is ready',
    seconds: 60,
    signal,
    look: () => url,
    holds: (seen) => seen !== undefined,
  });
  const types = ['stack.#', 'deployment.#', 'host.up', 'node.power.changed'];
  const { subscription } = await client.subscriptions.create({ name: 'demo', url: url ?? '', types, secret });
  say(`It verifies the signature of each delivery (Standard Webhooks) and prints the event: ${types.join(', ')}.`);
  check(subscription.status === 'active', `the subscription ${subscription.id} is active`, subscription);
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
