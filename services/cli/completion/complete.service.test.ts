import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import type { CliContext } from '../context.ts';
import { createOutput } from '../output.ts';
import { buildProgram } from '../program.ts';
import { completionsFor } from './complete.ts';
import { printCompletions } from '../print-completion.ts';
import { commandTree, type CommandTree } from './tree.ts';

const sink = { write: () => true };
const context = {
  output: { ...createOutput({ stdout: sink, stderr: sink, environment: {} }), colors: pc.createColors(false) },
  environment: {},
  cwd: '/',
} as unknown as CliContext;
const program = await buildProgram(context, { stdout: process.stdout, stderr: process.stderr });
const tree = commandTree(program);

async function at(line: string): Promise<string[] | 'files'> {
  const words = line.split(' ');
  const found = await completionsFor({
    tree,
    words: words.slice(0, -1),
    last: words.at(-1) ?? '',
    names: (noun, before) =>
      Promise.resolve(noun === 'resource' ? [`${before[0]}-${noun}`] : [`${noun}-1`, `${noun}-2`]),
  });
  return found === 'files' ? found : found.map(({ name }) => name);
}

describe('completionsFor', () => {
  it('completes commands, options and their values', async () => {
    expect(await at('sta')).toEqual(['stack']);
    expect(await at('stack cr')).toEqual(['create']);
    expect(await at('stack create web --ti')).toEqual(['--timeout']);
    expect(await at('stack list -o ')).toEqual(['table', 'json', 'yaml', 'wide', 'name', 'jsonpath=']);
    expect(await at('completion ')).toEqual(['bash', 'zsh', 'fish']);
    expect(await at('node power x o')).toEqual(['on', 'off']);
  });

  it('completes names of things that exist', async () => {
    expect(await at('stack show stack-')).toEqual(['stack-1', 'stack-2']);
    expect(await at('stack delete stack-1 stack-')).toEqual(['stack-1', 'stack-2']);
    expect(await at('explain type-')).toEqual(['type-1', 'type-2']);
    expect(await at('queue peek ')).toEqual(['queue-1', 'queue-2']);
    expect(await at('deployment list --host ')).toEqual(['host-1', 'host-2']);
    expect(await at('event watch --stack ')).toEqual(['stack-1', 'stack-2']);
    expect(await at('subscription create http://x --host ')).toEqual(['host-1', 'host-2']);
    expect(await at('server use ')).toEqual(['server-1', 'server-2']);
    expect(await at('event list --tag ')).toEqual(['tag-1', 'tag-2']);
    expect(await at('event list --group ')).toEqual(['group-1', 'group-2']);
    expect(await at('workflow show ')).toEqual(['workflow-1', 'workflow-2']);
    expect(await at('workflow cancel ')).toEqual(['execution-1', 'execution-2']);
    expect(await at('dead-letter replay ')).toEqual(['dead-letter-1', 'dead-letter-2']);
    expect(await at('serve --host ')).toEqual([]);
  });

  it('completes the resources of the stack that the line names', async () => {
    expect(await at('resource show web ')).toEqual(['web-resource']);
    expect(await at('resource show -o json web ')).toEqual(['web-resource']);
    expect(await at('snapshot show web ')).toEqual(['snapshot-1', 'snapshot-2']);
    expect(await at('hook clear web value ')).toEqual(['hook-1', 'hook-2']);
  });

  it('completes the server, which every command accepts, and takes it for no argument', async () => {
    expect(await at('--server ')).toEqual(['server-1', 'server-2']);
    expect(await at('stack show --server server-')).toEqual(['server-1', 'server-2']);
    expect(await at('stack show --serv')).toEqual(['--server']);
    expect(await at('--server lab sta')).toEqual(['stack']);
    expect(await at('resource show --server lab web ')).toEqual(['web-resource']);
  });

  it('leaves files to the shell', async () => {
    expect(await at('stack create web -t ')).toBe('files');
    expect(await at('template validate ')).toBe('files');
    expect(await at('restore ')).toBe('files');
    expect(await at('stack adopt web --adopt-file ')).toBe('files');
    expect(await at('serve --data ')).toBe('files');
  });

  it('prints the names alone for a shell that it does not know', async () => {
    let text = '';
    await printCompletions(['--', '--', 'stack', 'wa'], (more) => (text += more));
    expect(text).toBe('wait\n');
  });

  it('does not complete its own hidden command', async () => {
    expect(await at('completion-')).toEqual([]);
  });
});

describe('command help', () => {
  const leaves = (command: CommandTree, path: string): { path: string; command: CommandTree }[] =>
    command.commands.length === 0
      ? [{ path, command }]
      : command.commands.flatMap((below) => leaves(below, `${path} ${below.name}`.trim()));

  it('offers --output on every command that prints rows', () => {
    const without = leaves(tree, '')
      .filter(({ command }) => !command.options.some(({ flags }) => flags.includes('--output')))
      .map(({ path }) => path);
    expect(without).toEqual([
      'serve',
      'stack export',
      'stack abandon',
      'resource mark-unhealthy',
      'resource mark-healthy',
      'resource skip',
      'resource signal',
      'snapshot delete',
      'hook clear',
      'hook complete',
      'hook heartbeat',
      'group protect',
      'group unprotect',
      'group pause',
      'group resume',
      'group resize',
      'group remove',
      'group refresh',
      'group decide',
      'template graph',
      'template format',
      'template schema',
      'deployment logs',
      'deployment download',
      'deployment delete',
      'node remove',
      'node confirm-off',
      'node clear-suspect',
      'node interrupt',
      'node dhcp-config',
      'inspection-rule delete',
      'host join',
      'host delete',
      'queue purge',
      'dead-letter replay',
      'dead-letter purge',
      'subscription delete',
      'subscription pause',
      'subscription resume',
      'subscription retry',
      'subscription replay',
      'workflow delete',
      'workflow pause',
      'workflow resume',
      'workflow cancel',
      'workflow forget',
      'workflow rerun',
      'workflow skip',
      'workflow complete',
      'workflow unschedule',
      'project set',
      'project enable',
      'project disable',
      'project delete',
      'user delete',
      'user enable',
      'user disable',
      'user password',
      'user grant',
      'user revoke',
      'token revoke',
      'credential revoke',
      'image save',
      'image remove',
      'login',
      'server use',
      'server remove',
      'backup',
      'restore',
      'completion',
    ]);
  });

  it('has examples of the command in the help of every command', () => {
    for (const { path } of leaves(tree, '')) {
      let text = '';
      let command: typeof program | undefined = program;
      for (const name of path.split(' '))
        command = command?.commands.find((one) => one.name() === name) as typeof program;
      command.configureOutput({ writeOut: (more) => (text += more) });
      command.outputHelp();
      expect(text).toContain(`$ anneal ${path}`);
    }
  });
});
