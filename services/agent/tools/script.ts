/**
 * A script in any language: its first line names the interpreter, `/bin/sh` where it names none. Inputs are environment
 * variables; an output is what the script writes to `$heat_outputs_path.<name>`.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { asText, type Tool, type ToolContext } from './tool.ts';

const outputsName = 'output';
/** Larger results belong into a file or an object store; the template gets where. */
const outputLimitBytes = 64 * 1024;

export const scriptTool: Tool = {
  async prepare({ request, run, environment }) {
    const text = asText(request.config);
    const file = join(run, 'config');
    // A file that is left from an earlier attempt may be in use: it is replaced, not written into.
    await rm(file, { force: true });
    await writeFile(file, text, { mode: 0o700 });
    await writeFile(join(run, 'stdin'), '');
    return {
      command: [...interpreterOf(text), file],
      environment: {
        ...environment,
        ...Object.fromEntries(request.inputs.map(({ name, value }) => [name, asText(value)])),
        heat_outputs_path: join(run, outputsName),
      },
    };
  },
  async collect({ request, run, status }) {
    const { outputs, tooLarge } = await readOutputs({ request, run });
    if (tooLarge.length === 0) return { status_code: status, outputs };
    return {
      status_code: status,
      outputs,
      error: `outputs larger than ${outputLimitBytes} bytes: ${tooLarge.join(', ')}; they are in ${run}`,
    };
  },
};

/**
 * As the kernel reads the first line: a program and at most one argument. The file is not executed itself, because a
 * process that forks at this moment still has it open for writing, and then it is “busy”.
 */
export function interpreterOf(text: string): [string, ...string[]] {
  const line = /^#![ \t]*(\S+)(?:[ \t]+(\S.*?))?[ \t\r]*(?:\n|$)/.exec(text);
  const [, program, argument] = line ?? [];
  if (program === undefined) return ['/bin/sh'];
  return argument === undefined ? [program] : [program, argument];
}

async function readOutputs({ request, run }: Pick<ToolContext, 'request' | 'run'>) {
  const prefix = `${outputsName}.`;
  const files = (await readdir(run)).filter((name) => name.startsWith(prefix)).toSorted();
  const outputs: JsonObject = {};
  const tooLarge: string[] = [];
  for (const file of files) {
    const name = file.slice(prefix.length);
    const bytes = await readFile(join(run, file));
    if (bytes.length > outputLimitBytes) tooLarge.push(name);
    else outputs[name] = typed(bytes.toString('utf8'), request.outputs.find((output) => output.name === name)?.type);
  }
  return { outputs, tooLarge };
}

/** Outputs are text; one that was declared as JSON is read as such where it is. */
function typed(text: string, type: string | undefined): JsonObject[string] {
  if (type !== 'Json') return text;
  try {
    return JSON.parse(text) as JsonObject[string];
  } catch {
    return text;
  }
}
