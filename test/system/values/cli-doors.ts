/** The command line, in this process. It reads the documents and prints them. */
import { connect, type Client } from '@anneal/client/connect.ts';
import type { CliContext } from '@anneal/cli/context.ts';
import { createOutput } from '@anneal/cli/output.ts';
import { runCommand } from '@anneal/cli/run.ts';
import { isMap, isScalar, isSeq, parseDocument } from 'yaml';
import { at, type Odd, readOdd } from './document.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

const clients = new WeakMap<ValuesWorld, Promise<Client>>();

/** A client of the world. */
export function valuesClient(world: ValuesWorld): Promise<Client> {
  const { url, password } = world;
  const opened =
    clients.get(world) ?? connect({ authUrl: `${url}/identity/v3`, username: 'admin', password, project: 'admin' });
  clients.set(world, opened);
  return opened;
}

async function anneal(world: ValuesWorld, ...words: string[]): Promise<string> {
  const opened = valuesClient(world);
  let [text, notes] = ['', ''];
  const stdout = { isTTY: false, write: (chunk: string) => ((text += chunk), true) } as unknown as NodeJS.WriteStream;
  const stderr = { isTTY: false, write: (chunk: string) => ((notes += chunk), true) } as unknown as NodeJS.WriteStream;
  const output = createOutput({ stdout, stderr, environment: {} });
  const client = (): Promise<Client> => opened;
  const part = async (name: string): Promise<unknown> => (await opened)[name as never];
  const interrupt = new AbortController().signal;
  const context = { words, output, environment: {}, cwd: '/', interrupt, client, part, parts: client };
  const status = await runCommand({ context: context as unknown as CliContext, stdout, stderr });
  if (status !== 0) throw new Error(`anneal ${words.join(' ')}: ${status} ${notes}`);
  return text;
}

/** YAML, read by its package with the text of each number. */
function readYaml(text: string): Odd {
  const valueOf = (node: unknown): Odd => {
    if (isSeq(node)) return node.items.map(valueOf);
    if (isMap(node))
      return new Map(node.items.map(({ key, value }) => [String((key as { value: unknown }).value), valueOf(value)]));
    if (!isScalar(node)) return null;
    return typeof node.value === 'number' ? { number: node.source ?? '' } : (node.value as Odd);
  };
  return valueOf(parseDocument(text).contents);
}

async function published(world: ValuesWorld, text: string): Promise<string> {
  const queue = world.name('q');
  await anneal(world, 'queue', 'publish', queue, text, '--create');
  return queue;
}

export const cliDoors: Readonly<Record<string, Door>> = {
  'anneal queue publish, peek -o json': async (world, text) => {
    const queue = await published(world, text);
    return at(readOdd(await anneal(world, 'queue', 'peek', queue, '-o', 'json')), 0, 'body');
  },
  'anneal queue peek -o yaml': async (world, text) => {
    const queue = await published(world, text);
    return at(readYaml(await anneal(world, 'queue', 'peek', queue, '-o', 'yaml')), 0, 'body');
  },
  'anneal queue peek -o jsonpath': async (world, text) => {
    const queue = await published(world, text);
    // A text is printed as it is, so a list stands around it.
    return readOdd(await anneal(world, 'queue', 'peek', queue, '-o', 'jsonpath=[0].body'));
  },
};
