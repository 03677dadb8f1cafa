/** The script that makes a machine a host. The whole way of a machine is tested in test/system/join.test.ts. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { renderJoin } from './join-routes.ts';
import { shellText } from '../scripts/text.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'anneal-join-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const script = renderJoin({ url: 'http://127.0.0.1:1', token: 'a-token-of-a-join-line' });
const located = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const run = (text: string, words: readonly string[] = [], environment: Record<string, string> = {}) =>
  spawnSync('sh', ['-s', '--', ...words], {
    input: text,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', HOME: directory, ANNEAL_PREFIX: join(directory, 'prefix'), ...environment },
  });

it('is valid in every POSIX shell', () => {
  for (const [program = '', ...words] of [['dash'], ['bash', '--posix'], ['busybox', 'sh']]) {
    if (!located(program)) continue;
    expect(spawnSync(program, [...words, '-n'], { input: script, encoding: 'utf8' })).toMatchObject({ status: 0 });
  }
});

it('does nothing when it arrives incomplete', () => {
  const lines = script.trimEnd().split('\n');
  for (const kept of [lines.slice(0, -1).join('\n'), script.slice(0, -4), script.slice(0, script.length / 2)])
    run(kept);
  expect(readdirSync(directory)).toEqual([]);
});

it('fails, and says why, without a server, with a wrong prefix and with an unknown option', () => {
  const refused = run(script);
  expect(refused.status).not.toBe(0);
  expect(refused.stderr).toContain('cannot join: no agent at http://127.0.0.1:1/agent/sh');
  expect(run(script, [], { ANNEAL_PREFIX: 'here' }).stderr).toContain('must be an absolute path');
  expect(run(script, [], { ANNEAL_PREFIX: '/tmp/$(id)' }).stderr).toContain('letters, digits');
  expect(run(script, ['--what']).stderr).toContain('unknown option --what');
});

it('removes nothing where nothing is installed', () => {
  const undone = run(script, ['--undo']);
  expect(undone).toMatchObject({ status: 0 });
  expect(undone.stdout).toContain('no agent in');
});

it('writes a unit that systemd accepts, and a service for OpenRC', (test) => {
  const unit = run(`${shellText.units}systemd_unit`).stdout;
  expect(unit).toContain('\nExecStart=/usr/local/bin/anneal-agent run\nRestart=always\n');
  expect(unit).toContain('\nKillMode=process\n');
  const service = run(`${shellText.units}openrc_service`).stdout;
  expect(service.split('\n')[0]).toBe('#!/sbin/openrc-run');
  expect(service).toContain('\ncommand=/usr/local/bin/anneal-agent\ncommand_args=run\n');
  if (!located('systemd-analyze')) test.skip('systemd-analyze is not on this machine');
  const file = join(directory, 'anneal-agent.service');
  // The agent is not installed here.
  writeFileSync(file, unit.replace('/usr/local/bin/anneal-agent', '/bin/sh'));
  expect(spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});
