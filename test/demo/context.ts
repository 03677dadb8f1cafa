/** The state and the helpers that all steps of the demo share. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@anneal/client/connect.ts';
import type { AnnealEvent } from '@anneal/client/events.ts';
import type { Children, Ended } from './children.ts';
import { check, command, reportQuote, whileDrawing } from './report.ts';

export interface DemoContext {
  readonly client: Client;
  readonly children: Children;
  readonly signal: AbortSignal;
  /** Temporary folder with all files of this run. */
  readonly dataDirectory: string;
  /** Events that the listener has received. */
  readonly received: readonly AnnealEvent[];
  /** Number of deliveries that the listener refused because of a wrong signature. */
  readonly refused: () => number;
}

/** Path of a file of the demo, relative to the repository. */
export const inDemo = (name: string): string => `test/demo/${name}`;
/** Runs a command that draws a live tree. On a terminal the command uses the terminal; else its lines are quoted. */
export async function runLive(demo: DemoContext, args: readonly string[]): Promise<Ended> {
  command(args);
  const inherit = process.stdout.isTTY;
  if (inherit) return whileDrawing(() => demo.children.anneal(args, { inherit }));
  return demo.children.anneal(args, { onLine: reportQuote });
}

/** Runs a command and quotes its output. */
export async function runAndPrint(demo: DemoContext, args: readonly string[]): Promise<Ended> {
  command(args);
  const ended = await demo.children.anneal(args);
  reportQuote(`${ended.stdout}${ended.stderr}`);
  return ended;
}

export async function mustSucceed(run: Promise<Ended>): Promise<Ended> {
  const ended = await run;
  if (ended.status !== 0)
    check(false, 'the command succeeds', `exit status ${ended.status}\n${ended.stdout}${ended.stderr}`);
  return ended;
}

/** System log of a machine. */
export async function logOf(demo: DemoContext, machine: string): Promise<string> {
  const file = join(demo.dataDirectory, 'lab', 'machines', machine, 'log', 'messages');
  return readFile(file, 'utf8').catch(() => '');
}

/** The machine of a server resource. A node has the name of its machine. */
export async function machineOf(demo: DemoContext, stack: string, resource: string): Promise<string> {
  const { physical_resource_id: server } = await demo.client.stacks.resource({ stack, resource });
  const node = (await demo.client.nodes.list()).find((one) => one.instance_uuid === server);
  check(node?.name != null, `${resource} of ${stack} runs on ${node?.name ?? 'no node'}`, { server });
  return node.name;
}

export const dataOf = (event: AnnealEvent): Record<string, unknown> =>
  typeof event.data === 'object' && event.data !== null ? event.data : {};
