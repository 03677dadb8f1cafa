/** Reads the outputs of a script from `$heat_outputs_path.<name>`. Reading ends whatever the script left there. */
import { isUtf8 } from 'node:buffer';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { jsonOrText } from '@anneal/contracts/plain-json.ts';
import { readWhole, sizeOfFile, UnreadableError } from '../output.ts';

export const outputsName = 'output';
/** A longer output, and one that is no text, is sent as bytes, apart from the answer. */
const outputLimitBytes = 64 * 1024;
const mostOutputs = 256;
/** The most names that are read in the folder of a run. A script that creates more is at fault. */
const mostNames = 20_000;
/** The most mistakes that one error lists. */
const mostMistakes = 10;

export interface Outputs {
  readonly outputs: JsonObject;
  /** Outputs to send as bytes, with their files. */
  readonly files: ReadonlyMap<string, string>;
  readonly mistakes: string[];
}

export async function readOutputs({ request, work }: { request: HostRequest; work: string }): Promise<Outputs> {
  const outputs: JsonObject = {};
  const files = new Map<string, string>();
  const mistakes: string[] = [];
  const listed = await outputNames(work);
  if (listed.mistake !== undefined) mistakes.push(listed.mistake);
  for (const name of listed.names.toSorted()) {
    const file = join(work, `${outputsName}.${name}`);
    try {
      const bytes = (await sizeOfFile(file)) > outputLimitBytes ? undefined : await readWhole(file, outputLimitBytes);
      if (bytes === undefined || !isUtf8(bytes)) files.set(name, file);
      else outputs[name] = typed(bytes.toString('utf8'), request.outputs.find((output) => output.name === name)?.type);
    } catch (error) {
      mistakes.push(`cannot read output ${name.slice(0, 100)}: ${reasonOf(error, file)}`);
    }
  }
  const more = mistakes.length - mostMistakes;
  return { outputs, files, mistakes: more > 0 ? [...mistakes.slice(0, mostMistakes), `and ${more} more`] : mistakes };
}

async function outputNames(work: string): Promise<{ names: string[]; mistake?: string }> {
  const prefix = `${outputsName}.`;
  const names: string[] = [];
  try {
    // The folder may have been replaced by a link to another one.
    if (!(await lstat(work)).isDirectory())
      return { names, mistake: 'its folder for outputs is no longer a directory' };
    let seen = 0;
    for await (const { name } of await opendir(work)) {
      seen += 1;
      if (seen > mostNames) {
        return { names, mistake: `it left more than ${mostNames} files; outputs among the other files were not read` };
      }
      if (!name.startsWith(prefix) || name === prefix) continue;
      if (names.length === mostOutputs) return { names, mistake: `it has more than ${mostOutputs} outputs` };
      names.push(name.slice(prefix.length));
    }
    return { names };
  } catch (error) {
    return { names, mistake: `cannot read its folder for outputs: ${reasonOf(error, work)}` };
  }
}

export const keptIn = (file: string): string =>
  `; the full output is in ${file} on the host. Let the script store large results elsewhere and output their location`;

function reasonOf(error: unknown, file: string): string {
  if (error instanceof UnreadableError) return `${error.message}${error.message.includes('bytes') ? keptIn(file) : ''}`;
  return error instanceof Error ? error.message : String(error);
}

/** Returns an output as text, or as JSON when it is declared as JSON and parses. */
const typed = (text: string, type: string | undefined): Json => (type === 'Json' ? jsonOrText(text) : text);
