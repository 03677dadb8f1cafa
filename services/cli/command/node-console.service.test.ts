import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeConsole } from '@anneal/client/representation.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliContext } from '../context.ts';
import { createOutput } from '../output.ts';
import { linesAfter } from './node-console.ts';
import { runCommand } from '../run.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'console-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(consoles: readonly NodeConsole[] | null, ...words: string[]) {
  let text = '';
  const stream = { write: (chunk: string) => ((text += chunk), true) } as unknown as NodeJS.WritableStream;
  const output = createOutput({ stdout: stream, stderr: stream, environment: {} });
  const part = () => Promise.resolve({ show: () => Promise.resolve({ consoles }) });
  const environment = { PATH: folder };
  const interrupt = new AbortController().signal;
  const all = ['node', 'console', 'm1', ...words];
  const context = { words: all, output, environment, cwd: folder, interrupt, part } as unknown as CliContext;
  return { status: await runCommand({ context, stdout: stream, stderr: stream }), text };
}

const serial = (protocol: string, command: string[]): NodeConsole => ({
  kind: 'serial',
  protocol,
  url: `${protocol}://bmc:22`,
  command,
  enter: null,
  leave: '~.',
});
const ssh = serial('ssh', ['ssh', '-p', '22', "o'hara @bmc"]);
const ipmi = serial('ipmi', ['ipmitool', '-H', '$(reboot)']);
const screen = { ...ssh, kind: 'graphical' as const, protocol: 'kvm', url: 'https://bmc/', command: null, leave: null };

/** Puts a program on the PATH that writes down its arguments, one a line. */
function install(program: string, status: number): void {
  const file = join(folder, program);
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/arguments\nexit ${status}\n`);
  chmodSync(file, 0o755);
}

it('prints a line for each console that a shell reads back word for word', async () => {
  const { status, text } = await run([ssh, screen]);
  expect({ status, lines: text.split('\n') }).toEqual({
    status: 0,
    lines: [
      'serial console, over ssh:',
      String.raw`  ssh -p 22 'o'\''hara @bmc'`,
      '  leave with the keys: ~.',
      'screen, in a browser:',
      '  https://bmc/',
      '',
    ],
  });
});

it('connects without a shell, and ends with the status of the program', async () => {
  install('ipmitool', 3);
  expect(await run([ssh, ipmi], '--run', '--protocol', 'ipmi')).toMatchObject({ status: 3 });
  expect(readFileSync(join(folder, 'arguments'), 'utf8')).toBe('-H\n$(reboot)\n');
});

it.each([
  [null, [], 'no inspection has looked for one'],
  [[], [], 'its BMC offers none'],
  [[ssh], ['--run', '--protocol', 'telnet'], 'It has: ssh'],
  [[screen], ['--run'], 'Open it in a browser: https://bmc/'],
  [[ssh], ['--run'], 'the program ssh is not on the PATH'],
])('refuses %j with %j', async (consoles, words, reason) => {
  const { status, text } = await run(consoles, ...words);
  expect(text).toContain(reason);
  expect(status).toBe(1);
});

describe('the log of a console', () => {
  const line = (id: string) => ({ id, at: null, text: `line ${id}` });
  it('continues behind the last known line, and begins again with a new log', () => {
    const lines = [line('3'), line('4'), line('5')];
    expect(linesAfter(lines, '4')).toEqual([line('5')]);
    expect(linesAfter(lines, '5')).toEqual([]);
    expect(linesAfter(lines, '9')).toEqual(lines);
    expect(linesAfter(lines, undefined)).toEqual(lines);
  });
});
