/** The end of a part with real processes, which resist. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newTrace, partProcesses, removeTraces, type PartTrace } from './ending.ts';
import type { TestPart } from './parts.ts';
import { runPart } from './run-part.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anneal-full-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const stays = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);";
/** Starts a process in its own session, which keeps the output open and writes its id when it is ready. */
const startsAnother = (rest: string): string => `
  const { spawn } = require('node:child_process');
  const own = ${JSON.stringify(stays)} + "require('node:fs').writeFileSync(process.argv[1], String(process.pid));";
  // It gets no environment but a folder, as the brokers of the tests do.
  const env = { HOME: process.env.TMPDIR + '/home' };
  spawn(process.execPath, ['-e', own, ${JSON.stringify(join(folder, 'pid'))}], { detached: true, stdio: 'inherit', env }).unref();
  console.log('it has started');
  ${rest}`;

const partOf = (program: string, limit: number): TestPart => ({
  name: 'a',
  description: 'resists',
  minutes: 1,
  limit,
  commands: [{ words: ['-e', program] }],
  folders: [],
});

const pidOfOther = (): number | undefined => {
  const file = join(folder, 'pid');
  return existsSync(file) && readFileSync(file, 'utf8') !== '' ? Number(readFileSync(file, 'utf8')) : undefined;
};

function begin(part: TestPart) {
  const stop = new AbortController();
  const traces: PartTrace[] = [];
  const log = join(folder, 'log');
  let shown = '';
  const ended = runPart(part, {
    log,
    stop: stop.signal,
    patienceMs: 200,
    onBegin: (trace) => void traces.push(trace),
    show: (text) => (shown += text),
  });
  /** No process of the part is left, and no folder. */
  const expectNothing = (): void => {
    expect(traces.flatMap(partProcesses)).toEqual([]);
    expect(traces.map((trace) => existsSync(trace.folder))).toEqual([false]);
  };
  return { stop, ended, log, shown: () => shown, expectNothing };
}

describe.skipIf(!existsSync('/proc/self/environ'))('a part that ends', () => {
  it('at its limit leaves no process, though one has its own session and ignores SIGTERM', async () => {
    const { ended, expectNothing } = begin(partOf(startsAnother(stays), 0.05));
    const result = await ended;
    expect(result).toMatchObject({ outcome: 'failed', reason: 'did not end within its limit of 0.05 min' });
    expectNothing();
  });

  it('by a stop of the run leaves no process, and counts as stopped', async () => {
    const { stop, ended, expectNothing } = begin(partOf(startsAnother(stays), 5));
    const pid = await eventually(pidOfOther, { what: 'the other process' });
    stop.abort();
    expect(await ended).toMatchObject({ outcome: 'stopped' });
    expectNothing();
    expect(existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toBeFalsy();
  });

  it('by itself fails when it left a process, whose id it names', async () => {
    const file = JSON.stringify(join(folder, 'pid'));
    const waits = `setInterval(() => require('node:fs').existsSync(${file}) && process.exit(0), 10);`;
    const { ended, expectNothing } = begin(partOf(startsAnother(waits), 5));
    const { outcome, reason } = await ended;
    expect(outcome).toBe('failed');
    expect(reason).toContain(`left process ${pidOfOther()} (`);
    expectNothing();
  });

  it('in order passes, and its output is shown and kept', async () => {
    const { ended, log, shown, expectNothing } = begin(partOf("console.log('a line')", 5));
    expect(await ended).toMatchObject({ outcome: 'passed' });
    expect(shown()).toBe('a line\n');
    expect(readFileSync(log, 'utf8')).toBe('a line\n');
    expectNothing();
  });

  it('passes only when a program that must fail does, for the expected reason', async () => {
    const failing = (program: string): TestPart => ({
      ...partOf('', 5),
      commands: [{ words: ['-e', program], fails: /^seed \d+: / }],
    });
    expect(await begin(failing("console.log('seed 3: C1'); process.exit(1)")).ended).toMatchObject({
      outcome: 'passed',
    });
    for (const program of ["console.log('seed 3: C1')", 'process.exit(1)']) {
      expect(await begin(failing(program)).ended).toMatchObject({
        outcome: 'failed',
        reason: expect.stringContaining('did not fail as it must'),
      });
    }
  });
});

describe('what a part has left', () => {
  it('a mount is removed before its folder, so that no file in it is deleted', (context) => {
    const trace = newTrace();
    onTestFinished(() => rmSync(trace.folder, { recursive: true, force: true }));
    const [source, point] = [join(folder, 'source'), join(trace.folder, 'a point')] as const;
    for (const each of [source, point]) mkdirSync(each);
    if (spawnSync('mount', ['--bind', source, point]).status !== 0) context.skip('this user cannot mount');
    mkdirSync(join(point, 'kept'));
    expect(removeTraces(trace)).toEqual([`mount ${point}`]);
    expect(existsSync(trace.folder)).toBe(false);
    expect(existsSync(join(source, 'kept'))).toBe(true);
  });

  it('a network namespace is removed when its maker has ended, and stays when it runs', (context) => {
    const trace = newTrace();
    const ended = `anneal-${spawnSync(process.execPath, ['--version']).pid}`;
    const runs = `anneal-${process.pid}-second`;
    const add = (name: string): boolean => spawnSync('ip', ['netns', 'add', name]).status === 0;
    onTestFinished(() => [ended, runs].forEach((name) => spawnSync('ip', ['netns', 'delete', name])));
    if (!add(ended) || !add(runs)) context.skip('this user cannot make a network namespace');
    expect(removeTraces(trace)).toEqual([`network namespace ${ended}`]);
    expect(execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' })).toContain(runs);
  });
});
