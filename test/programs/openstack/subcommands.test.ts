/**
 * Every `openstack` subcommand that the clients from PyPI register for the APIs of Anneal. The scripts in `subcommands/`
 * call each at least once, so a subcommand that a new release of a client adds fails here until a script calls it.
 *
 * A line of a script is `[name[.Column] =] command [=> expected | ~> expected | !> expected]`:
 *
 * - `name =` keeps the id of the first row that the command prints, or the value in the column. `$name` is that value in
 *   later lines; `$dir` for the folder of the files.
 * - `=>` is followed by a pattern of what it prints, `~>` by a pattern that it prints within the deadline when it is
 *   repeated, and `!>` by a pattern of the refusal. Every other command must succeed. No answer may be a 5xx.
 * - `> name content` writes a file. `#` begins a comment.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { describe, expect, it } from 'vitest';
import { useOpenstackClients, type CommandEnd } from './clients.ts';

const clients = useOpenstackClients({ lab: 2 });

/** The scripts, with the groups of entry points whose subcommands they call. */
const scripts = [
  ['orchestration', 'openstack.orchestration.v1'],
  ['messaging', 'openstack.messaging.v2'],
  ['identity', 'openstack.identity.v3'],
  ['baremetal', 'openstack.baremetal.v1'],
  ['workflow', 'openstack.workflow_engine.v2'],
] as const;

const lineForm = /^(?:(?<name>\w+)(?:\.(?<column>\w+))? = )?(?<command>.+?)(?: (?<how>[=~!]>) (?<expected>.+))?$/;
type Row = Readonly<Record<string, string>>;
const idColumns = ['id', 'ID', 'uuid', 'UUID'];

/** The words of a command, of which those in single quotes may contain spaces. */
const wordsOf = (command: string): string[] =>
  Array.from(command.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');

/** Whether a command succeeded, or was refused by a decision of the server. */
function problemOf({ status, stdout, stderr }: CommandEnd, { how, expected = '' }: Partial<Record<string, string>>) {
  if (/\b(?:HTTP 5\d\d|Internal Server Error|Traceback)/.test(stderr)) return 'an error of the server or the client';
  if (how === '!>') {
    if (status !== 1) return 'no refusal';
    return new RegExp(expected).test(stderr + stdout) ? undefined : 'another refusal';
  }
  if (status !== 0) return `status ${status}`;
  return new RegExp(expected).test(stdout) ? undefined : 'other output';
}

/** Runs the lines in order and returns what went wrong. */
async function run(lines: readonly string[]): Promise<string[]> {
  const known: Record<string, string> = { dir: clients.directory };
  const filled = (text: string): string => text.replaceAll(/\$(\w+)/g, (all, name: string) => known[name] ?? all);
  const problems: string[] = [];
  for (const line of lines) {
    const [, file, content] = /^> (\S+) (.*)$/.exec(line) ?? [];
    if (file !== undefined) {
      await writeFile(join(clients.directory, file), content ?? '');
      continue;
    }
    const { name, column, command = '', how, expected } = lineForm.exec(line)?.groups ?? {};
    const words = [...wordsOf(filled(command)), ...(name === undefined ? [] : ['-f', 'json'])];
    const wanted = { how, expected: expected && filled(expected) };
    let ended = await clients.openstack(...words);
    if (how === '~>') {
      await eventually(async () => problemOf((ended = await clients.openstack(...words)), wanted) === undefined, {
        what: line,
      }).catch(() => undefined);
    }
    const problem = problemOf(ended, wanted);
    if (problem !== undefined)
      problems.push(`${line}\n  ${problem}: ${ended.stdout.slice(-500)}${ended.stderr.slice(-500)}`);
    else if (name !== undefined) {
      const printed = JSON.parse(ended.stdout) as Row | Row[];
      const row = Array.isArray(printed) ? printed[0] : printed;
      const value = (column === undefined ? idColumns : [column]).map((each) => row?.[each]).find(Boolean);
      if (value === undefined) problems.push(`${line}\n  no id in ${ended.stdout.slice(0, 500)}`);
      else known[name] = value;
    }
  }
  return problems;
}

describe.each(scripts)('the subcommands of %s', (script, group) => {
  const linesOf = async (): Promise<string[]> => {
    const text = await readFile(join(import.meta.dirname, 'subcommands', `${script}.txt`), 'utf8');
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };

  it('are all called', async () => {
    const [listed] = await clients.rows('command', 'list', '--group', group);
    const installed = listed?.['Commands'] as string[];
    expect(installed.length).toBeGreaterThan(20);
    const lines = (await linesOf()).map((line) => ` ${line} `);
    expect(installed.filter((command) => !lines.some((line) => line.includes(` ${command} `)))).toEqual([]);
  });

  it('succeed, or are refused with the reason', async () => {
    expect((await run(await linesOf())).join('\n')).toBe('');
  }, 600_000);
});
