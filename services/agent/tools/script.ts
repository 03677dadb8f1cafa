/**
 * Runs a script in any language. Its first line names the interpreter; the default is `/bin/sh`. Inputs are environment
 * variables, long ones files `$heat_inputs_path.<name>`. The script writes an output to `$heat_outputs_path.<name>`.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { placedInputs, type TextInput } from '@anneal/tools/inputs.ts';
import { asText, type HostTool } from '@anneal/tools/tool.ts';
import { workFolder } from '../run-folder.ts';
import { outputsName, readOutputs } from './read-outputs.ts';
import type { Tool } from './tool.ts';

type Placed = ReturnType<typeof placedInputs>;

/** Runs the text that a request gives, with inputs in its environment and in files. */
const runningText = (textOf: (request: HostRequest) => string, placed: (request: HostRequest) => Placed): Tool => ({
  streams: ['stdout', 'stderr'],
  async prepare({ request, run, environment }) {
    const text = textOf(request);
    const file = join(run, 'config');
    // A file from an earlier attempt may be in use, so replace it instead of overwriting it.
    await rm(file, { force: true });
    await writeFile(file, text, { mode: 0o700 });
    await writeFile(join(run, 'stdin'), '');
    const { variables, files } = placed(request);
    const inputs = join(workFolder(run), 'input');
    for (const { name, text: value } of files) await writeFile(`${inputs}.${name}`, value, { mode: 0o600 });
    return {
      command: [...interpreterOf(text), file],
      environment: {
        ...environment,
        ...byName(variables),
        ...(files.length > 0 && { heat_inputs_path: inputs }),
        heat_outputs_path: join(workFolder(run), outputsName),
      },
    };
  },
  async collect({ request, run, status }) {
    const { outputs, files, mistakes } = await readOutputs({ request, work: workFolder(run) });
    if (mistakes.length === 0) return { status_code: status, outputs, files };
    return { status_code: status, outputs, files, error: mistakes.join('; ') };
  },
});

const byName = (inputs: readonly TextInput[]): Record<string, string> =>
  Object.fromEntries(inputs.map(({ name, text }) => [name, text]));

export const scriptTool: Tool = runningText(({ config }) => asText(config), placedInputs);

/** Runs the program that a tool makes from the request. The program holds the inputs in the form that the tool needs. */
export const programTool = (tool: HostTool): Tool =>
  runningText(
    (request) => tool.program(request),
    () => ({ variables: [], files: [] }),
  );

/**
 * Reads the first line like the kernel: a program and at most one argument. The agent does not execute the file itself,
 * because a process that forks at this moment may still have it open for writing, and the kernel then reports “busy”.
 */
export function interpreterOf(text: string): [string, ...string[]] {
  const line = /^#![ \t]*(\S+)(?:[ \t]+(\S.*?))?[ \t\r]*(?:\n|$)/.exec(text);
  const [, program, argument] = line ?? [];
  if (program === undefined) return ['/bin/sh'];
  return argument === undefined ? [program] : [program, argument];
}
