/** Converts the arguments of an offline command to the compiler's input. Reads all files here and calls no server. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { parseJsonText } from '@anneal/python/yaml/json-text.ts';
import type { RenderParameters } from '@anneal/hot/render.ts';
import { knownTypes } from '@anneal/hot/known.ts';
import { readText } from '../options/files.ts';
import type { CliContext } from '../context.ts';
import { readBundle, readPairs, type LargestRequest } from '../options/options.ts';
import { offlineLimits } from './limits.ts';

export interface OfflineOptions {
  readonly environment: readonly string[];
  readonly parameter: readonly string[];
  /**
   * A file with the contents of the files that the template names. By default they are read relative to the template.
   */
  readonly files?: string | undefined;
  readonly attributes?: string | undefined;
  readonly stackName?: string | undefined;
  /** Reports mistakes that Heat ignores. */
  readonly strict?: boolean | undefined;
  readonly maxDepth?: number | undefined;
}

/** The assumed stack of every offline command. */
export const offlineStack = { stackName: 'stack', stackId: '', projectId: 'project', types: knownTypes };

/** @throws AnnealError InvalidRequest when a file, an argument or a setting is wrong; TooLarge for more than `bodyLimit` */
export async function loadTemplate(
  file: string,
  options: OfflineOptions & { readonly bodyLimit?: LargestRequest | undefined },
  { cwd, environment: settings }: Pick<CliContext, 'cwd' | 'environment'>,
): Promise<RenderParameters> {
  const { environment, files, attributes, stackName, strict, maxDepth, bodyLimit } = options;
  const read =
    files === undefined
      ? await readAround({ template: file, environments: environment, cwd, bodyLimit })
      : await readAlone(file, environment, cwd);
  return {
    ...offlineStack,
    ...(stackName !== undefined && { stackName }),
    ...(strict && { strict }),
    now: new Date(),
    ...offlineLimits(settings),
    ...(maxDepth !== undefined && { maxDepth }),
    ...read,
    ...(files !== undefined && { files: await readTexts(files, cwd) }),
    ...(attributes !== undefined && { attributes: await readObject(attributes, cwd) }),
    parameters: readJsonPairs(options.parameter),
  };
}

type Read = Pick<RenderParameters, 'template' | 'environments' | 'files'>;

async function readAround(input: Parameters<typeof readBundle>[0]): Promise<Read> {
  const bundle = await readBundle(input);
  return {
    template: bundle.template,
    environments: bundle.environmentFiles.map((name) => ({ content: bundle.files[name] ?? '', file: name })),
    files: bundle.files,
  };
}

async function readAlone(file: string, environments: readonly string[], cwd: string): Promise<Read> {
  return {
    template: await readText(file, cwd),
    environments: await Promise.all(
      environments.map(async (name) => ({ content: await readText(name, cwd), file: name })),
    ),
  };
}

async function readObject(file: string, cwd: string): Promise<JsonObject> {
  const text = await readText(file, cwd);
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new AnnealError('InvalidRequest', `${file} must hold a JSON object`);
}

async function readTexts(file: string, cwd: string): Promise<Record<string, string>> {
  return textsOf(await readObject(file, cwd), file);
}

/** Files as clients send them: texts by name. @throws AnnealError InvalidRequest for a file that is not text. */
export function textsOf(value: JsonObject, where: string): Record<string, string> {
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string')
      throw new AnnealError('InvalidRequest', `${where}: the contents of file ${name} must be a string`);
  }
  return value as Record<string, string>;
}

/** Parses parameters: `name=5` is a number, `name="5"` and `name=five` are texts. */
function readJsonPairs(texts: readonly string[]): JsonObject {
  const pairs = Object.entries(readPairs(texts, '--parameter'));
  return toRecord(pairs.map(([name, text]) => [name, parseJson(text) ?? text]));
}

/** Undefined when the text is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}
