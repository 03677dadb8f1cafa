/**
 * Any other tool, by a hook in the form of heat-agents: an executable that reads the deployment as JSON on its standard
 * input and writes the result as JSON on its standard output; its standard error is its log.
 */
import { access, constants, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostRequest } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { readWhole } from '../output.ts';
import { asText, type Tool, type ToolResult } from './tool.ts';

/** A result travels in one post, which holds less. */
const signalLimitBytes = 1024 * 1024;

export function hookTool(executable: string): Tool {
  return {
    async prepare({ request, run, environment }) {
      await writeFile(join(run, 'stdin'), JSON.stringify(deploymentOf(request)), { mode: 0o600 });
      return { command: [executable], environment: { ...environment } };
    },
    async collect({ run, status }) {
      try {
        return readSignal((await readWhole(join(run, 'stdout'), signalLimitBytes)).toString('utf8'), status);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return { status_code: status === 0 ? 1 : status, outputs: {}, error: `its result could not be read: ${why}` };
      }
    },
  };
}

/** Hooks expect text where the input says so, and options to be there. */
function deploymentOf(request: HostRequest): Json {
  const inputs = request.inputs.map((input) => ({
    ...input,
    value: input.type === 'String' ? asText(input.value) : input.value,
  }));
  return { ...request, inputs } as unknown as Json;
}

/** What the hook says wins over how it exited; a hook that says nothing readable is reported as it is. */
export function readSignal(stdout: string, status: number): ToolResult {
  if (stdout.trim() === '') return { status_code: status, outputs: {}, stdout: '' };
  let signal: Json;
  try {
    signal = JSON.parse(stdout) as Json;
  } catch {
    return { status_code: status, outputs: {} };
  }
  if (typeof signal !== 'object' || signal === null || Array.isArray(signal))
    return { status_code: status, outputs: {} };
  const { deploy_stdout, deploy_stderr, deploy_status_code, ...outputs } = signal;
  const code = Number(deploy_status_code ?? 0);
  return {
    status_code: Number.isInteger(code) ? code : 1,
    outputs,
    stdout: asText(deploy_stdout ?? ''),
    stderr: asText(deploy_stderr ?? ''),
  };
}

/** As heat-agents looks for hooks: the first folder that has one; other characters of the group are dropped. */
export async function findHook(folders: readonly string[], group: string): Promise<string | undefined> {
  const name = group.replaceAll(/[^\w-]/g, '');
  if (name === '') return undefined;
  for (const folder of folders) {
    const file = join(folder, name);
    try {
      await access(file, constants.X_OK);
      return file;
    } catch {
      // The next folder may have it.
    }
  }
  return undefined;
}

export async function hooksIn(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])));
  return [...new Set(found.flat())].toSorted();
}
