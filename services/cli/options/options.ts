/** Helpers that commands share: the output format, examples in the help, and parsing of arguments. */
import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { TemplateBundle } from '@anneal/client/stacks.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, jsonIn, type JsonObject } from '@anneal/contracts/plain-json.ts';
import type { FailurePolicy } from '@anneal/contracts/calls/stacks.ts';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { pathOf, readText, whyUnusable } from './files.ts';

export { exampleText } from './example.ts';
export { formatOption } from './format.ts';

/** The keys of a record, because the types then prove that none is missing. The schema would load the contracts. */
const failurePolicies = Object.keys({ keep: 0, rollback: 0, pause: 0 } satisfies Record<
  FailurePolicy,
  0
>) as FailurePolicy[];

export const onFailureOption = () =>
  new Option(
    '--on-failure <what>',
    'keep the partial result, roll back to the last complete state, or pause until an operator retries, skips, rolls back or cancels',
  ).choices(failurePolicies);

const repeated = <const Flags extends string>(flags: Flags, description: string) =>
  new Option(flags, description).argParser(collect).default<string[]>([]);

export const otherTemplateOption = () =>
  new Option('-t, --template <file>', 'template: a file or a URL (default with --existing: the current template)');
export const existingOption = () =>
  new Option('--existing', 'keep the current template, environment and parameters unless new ones are given');
export const clearParameterOption = () =>
  repeated('--clear-parameter <name>', 'with --existing: reset this parameter to its default; may be repeated');
export const environmentOption = () =>
  repeated('-e, --environment <file>', 'environment file; may be repeated, the last one wins');
export const parameterOption = () => repeated('-P, --parameter <name=value>', 'value of a parameter; may be repeated');
export const parameterFileOption = () =>
  repeated('--parameter-file <name=file>', 'read the value of a parameter from a file; may be repeated');

/** Options for `settle`. */
export const waitOption = () =>
  new Option('--wait', 'wait for the action to end, with a progress tree (default on a terminal)');
export const noWaitOption = () => new Option('--no-wait', 'return as soon as the action has started');

export const collect = (value: string, all: string[]): string[] => [...all, value];

/** The scope of events: the same for every command about events. */
export const eventScopeOptions = () => ({
  stack: repeated(
    '--stack <stack>',
    'only events of this stack and everything nested in it, e.g. web or web/workers; may be repeated',
  ),
  tag: repeated('--tag <tag>', 'only events of stacks with this tag; may be repeated'),
  group: repeated('--group <path>', 'only events of this group and its members, e.g. web/workers; may be repeated'),
  host: repeated('--host <host>', 'only events of this host and its deployments; may be repeated'),
  project: new Option('--project <project>', 'events of this project in place of the own one; for operators'),
});

/** @throws AnnealError InvalidRequest, which names the option and shows an example */
export function readJsonObject(text: string, { option, example }: { option: string; example: string }): JsonObject {
  const value = jsonIn(text);
  if (isObject(value)) return value;
  throw new AnnealError(
    'InvalidRequest',
    `${option} must be a JSON object such as ${example}, not ${text === '' ? 'empty' : text.slice(0, 100)}.`,
  );
}

export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Must be an integer greater than zero.');
  return Number(text);
}

/** A size in bytes, which may be that of a large disk. */
export function byteCount(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('Must be a number of bytes greater than zero.');
  return Number(text);
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Must be a non-negative integer.');
  return Number(text);
}

/** Parses repeated `key=value`. A repeated key replaces the earlier value. */
export function readPairs(texts: readonly string[], option: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1)
      throw new AnnealError('InvalidRequest', `${option} must be <name>=<value>, not ${text === '' ? 'empty' : text}.`);
    pairs[text.slice(0, at)] = text.slice(at + 1);
  }
  return pairs;
}

/** Parameters given on the command line: `--parameter` and `--parameter-file`. */
export async function readParameterOptions(input: {
  parameter: readonly string[];
  parameterFile: readonly string[];
  cwd: string;
}): Promise<Record<string, string>> {
  const parameters = readPairs(input.parameter, '--parameter');
  for (const [name, file] of Object.entries(readPairs(input.parameterFile, '--parameter-file'))) {
    parameters[name] = await readText(file, input.cwd);
  }
  return parameters;
}

/** Returns the largest body that a server accepts, in bytes; undefined when it is not known. */
export type LargestRequest = () => Promise<number | undefined>;

/** Asks the server for the largest body that it accepts, in bytes. Undefined from an older server. */
export const bodyLimitOf =
  (context: CliContext): LargestRequest =>
  async () => {
    const { info } = await import('@anneal/client/connect.ts');
    const { findLogin } = await import('../login.ts');
    return (await info({ url: (await findLogin(context)).authUrl, signal: context.interrupt })).limits?.body_bytes;
  };

/** @throws AnnealError that names each file that cannot be read; TooLarge with the file that the server would refuse */
export async function readBundle(input: {
  template: string;
  environments: readonly string[];
  cwd: string;
  /** Absent: nothing is sent. */
  bodyLimit?: LargestRequest | undefined;
}): Promise<TemplateBundle> {
  // Only commands with a template need the parser of templates.
  const { collectFiles } = await import('@anneal/client/files.ts');
  return collectFiles({
    template: toUrl(input.template, input.cwd),
    environments: input.environments.map((file) => toUrl(file, input.cwd)),
    read: input.bodyLimit ? readWithin(input.bodyLimit) : readFrom,
  });
}

/** The smallest limit that is usual: smaller files are sent without a question for the limit. */
const usualBytes = 512 * 1024;

/**
 * Reads files while all of them together fit into a request, and looks at the size of a file before it reads it: to read
 * and encode 100 MB for a refusal takes long. JSON needs at least the bytes of the text.
 */
function readWithin(bodyLimit: LargestRequest): (url: URL) => Promise<string> {
  let sum = 0;
  let limit: Promise<number | undefined> | undefined;
  return async (url) => {
    if (url.protocol !== 'file:') return readFrom(url);
    const { size } = await stat(url).catch(() => ({ size: 0 }));
    sum += size;
    if (sum > usualBytes) {
      limit ??= bodyLimit();
      const most = (await limit) ?? Infinity;
      if (sum > most) throw tooLarge({ file: fileURLToPath(url), size, sum, most });
    }
    return readFrom(url);
  };
}

function tooLarge(found: { file: string; size: number; sum: number; most: number }): AnnealError {
  const { file, size, sum, most } = found;
  const bytes = (count: number): string => `${count.toLocaleString('en-US')} bytes`;
  const subject =
    size > most ? `${file} has ${bytes(size)}` : `With ${file} (${bytes(size)}), the files have ${bytes(sum)}`;
  return new AnnealError(
    'TooLarge',
    `${subject}; the server accepts ${bytes(most)} in a request (ANNEAL_GATEWAY_BODY_LIMIT).`,
    {
      details: {
        remedy: 'Send less, or let the hosts fetch large files from a server; an operator can raise the limit.',
      },
    },
  );
}

/** @throws AnnealError InvalidRequest for an empty name, which would be that of the working folder */
const toUrl = (file: string, cwd: string): URL =>
  /^(file|https?):\/\//.test(file) ? new URL(file) : pathToFileURL(pathOf(file, cwd));

/** @throws AnnealError whose message is the reason only, because the place of a name comes before it */
async function readFrom(url: URL): Promise<string> {
  if (url.protocol === 'file:') {
    return readFile(url, 'utf8').catch((error: unknown) => {
      throw new AnnealError('InvalidRequest', whyUnusable(error), { cause: error });
    });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AnnealError('InvalidRequest', `files cannot be read over ${url.protocol}`);
  }
  const response = await fetch(url).catch((error: unknown) => {
    throw new AnnealError('Unavailable', 'no server answers at that address', { cause: error });
  });
  if (!response.ok) throw new AnnealError('InvalidRequest', `the server answered ${response.status}`);
  return response.text();
}

/** Reads a secret from a file, so that it appears in no process list and no shell history. */
export const readSecret = async (file: string, cwd: string): Promise<string> => (await readText(file, cwd)).trim();
