/**
 * Runs any other tool through a heat-agents hook: an executable that reads the deployment as JSON on its standard input
 * and writes the result as JSON on its standard output. Its standard error is its log.
 */
import { access, constants, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';
import { asText } from '@anneal/tools/tool.ts';
import { readWhole } from '../output.ts';
import type { Tool, ToolResult } from './tool.ts';

/** Limit for the standard output of a hook. A result is sent in one post, which holds less. */
const signalLimitBytes = 1024 * 1024;

export function hookTool(executable: string): Tool {
  return {
    streams: ['stderr'],
    async prepare({ request, run, environment }) {
      await writeFile(join(run, 'stdin'), JSON.stringify(deploymentOf(request)), { mode: 0o600 });
      return { command: [executable], environment: { ...environment } };
    },
    async collect({ run, status }) {
      try {
        return readSignal((await readWhole(join(run, 'stdout'), signalLimitBytes)).toString('utf8'), status);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return { status_code: status === 0 ? 1 : status, outputs: {}, error: `cannot read its result: ${why}` };
      }
    },
  };
}

/** Converts inputs declared as text to text, because hooks expect that. They also expect `options` to be present. */
function deploymentOf(request: HostRequest): Json {
  const inputs = request.inputs.map((input) => ({
    ...input,
    value: input.type === 'String' ? asText(input.value) : input.value,
  }));
  return { ...request, inputs } as unknown as Json;
}

/** The result that a hook writes wins over its exit status. Unreadable output is reported unchanged. */
export function readSignal(stdout: string, status: number): ToolResult {
  if (stdout.trim() === '') return { status_code: status, outputs: {}, stdout: '' };
  const signal = jsonIn(stdout);
  if (!isObject(signal)) return { status_code: status, outputs: {} };
  const { deploy_stdout, deploy_stderr, deploy_status_code, ...outputs } = signal;
  const code = Number(deploy_status_code ?? 0);
  return {
    status_code: Number.isInteger(code) ? code : 1,
    outputs,
    stdout: asText(deploy_stdout ?? ''),
    stderr: asText(deploy_stderr ?? ''),
  };
}

/** Finds a hook like heat-agents: in the first folder that has one, with special characters of the group dropped. */
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
