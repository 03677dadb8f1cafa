/** What all acts of the demo share. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@anneal/client/connect.ts';
import type { AnnealEvent } from '@anneal/client/events.ts';
import type { Children, Ended } from './children.ts';
import { claim, command, quote, whileDrawing } from './stage.ts';

export interface Scene {
  readonly client: Client;
  readonly children: Children;
  readonly signal: AbortSignal;
  /** Everything of this run, in a temporary folder. */
  readonly dataDirectory: string;
  /** What the listener received so far. */
  readonly received: readonly AnnealEvent[];
  /** How many deliveries the listener refused: wrong signatures. */
  readonly refused: () => number;
}

/** A file as the demo names it to the CLI: relative to the repository. */
export const inDemo = (name: string): string => `test/demo/${name}`;
/** Runs a command that draws: on a terminal it gets the terminal, else its lines are quoted as they come. */
export async function perform(scene: Scene, words: readonly string[]): Promise<Ended> {
  command(words);
  const inherit = process.stdout.isTTY;
  if (inherit) return whileDrawing(() => scene.children.anneal(words, { inherit }));
  return scene.children.anneal(words, { onLine: quote });
}

/** Runs a command for what it prints. */
export async function print(scene: Scene, words: readonly string[]): Promise<Ended> {
  command(words);
  const ended = await scene.children.anneal(words);
  quote(`${ended.stdout}${ended.stderr}`);
  return ended;
}

export async function mustSucceed(run: Promise<Ended>): Promise<Ended> {
  const ended = await run;
  if (ended.status !== 0)
    claim(false, 'the command succeeds', `exit status ${ended.status}\n${ended.stdout}${ended.stderr}`);
  return ended;
}

/** The log of the machine that a server of a stack runs on. */
export async function logOf(scene: Scene, machine: string): Promise<string> {
  const file = join(scene.dataDirectory, 'lab', 'machines', machine, 'log', 'messages');
  return readFile(file, 'utf8').catch(() => '');
}

/** The machine under a server resource: its node's name is the machine's. */
export async function machineOf(scene: Scene, stack: string, resource: string): Promise<string> {
  const { physical_resource_id: server } = await scene.client.stacks.resource({ stack, resource });
  const node = (await scene.client.nodes.list()).find((one) => one.instance_uuid === server);
  claim(node?.name != null, `${resource} of ${stack} runs on ${node?.name ?? 'no node'}`, { server });
  return node.name;
}

export const dataOf = (event: AnnealEvent): Record<string, unknown> =>
  typeof event.data === 'object' && event.data !== null ? (event.data as Record<string, unknown>) : {};
