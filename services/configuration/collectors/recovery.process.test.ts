import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostRequestSchema } from '@anneal/contracts/calls/host-messages.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recoveryOf } from './recovery.ts';

const id = '7c3e1c3e-64a7-8a0c-9d22-0123456789ab';
const request = hostRequestSchema.parse({
  id,
  deployment_id: 'd',
  name: 'web',
  group: 'ansible',
  config: '',
  action: 'CREATE',
  inputs: [],
  outputs: [],
  options: {},
  deadline: '2026-11-22T12:00:00.000Z',
  creation_time: '2026-11-22T11:00:00.000Z',
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anneal-recovery-'));
  writeFileSync(join(folder, 'notify'), `#!/bin/sh\necho "$1" >>${folder}/notified\ncat >>${folder}/notified\n`);
  chmodSync(join(folder, 'notify'), 0o755);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = () => join(folder, `${id}.json`);
const answer = () => join(folder, `${id}.notify.json`);
const notified = (): string =>
  existsSync(join(folder, 'notified')) ? readFileSync(join(folder, 'notified'), 'utf8') : '';
/** Runs the config as the script hook does: as a file. */
function recover(of = request): void {
  const file = join(folder, 'script');
  writeFileSync(file, recoveryOf(of, 1)?.['config'] as string);
  chmodSync(file, 0o755);
  const env = { ...process.env, HEAT_CONFIG_DEPLOYED: folder, HEAT_CONFIG_NOTIFY: join(folder, 'notify') };
  expect(spawnSync(file, { env, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
}

describe('the recovery of an answer', () => {
  it('sends an answer again that the host has kept', () => {
    writeFileSync(config(), '{}');
    writeFileSync(answer(), '{\n  "deploy_status_code": 0\n}');
    recover();
    expect(notified()).toBe(`${config()}\n{\n  "deploy_status_code": 0\n}`);
    expect(existsSync(config())).toBe(true);
  });

  it('lets the host run a config again whose hook was killed, also while it wrote the answer', () => {
    writeFileSync(config(), '{}');
    recover();
    expect(existsSync(config())).toBe(false);
    writeFileSync(config(), '{}');
    writeFileSync(answer(), '{\n  "deploy_status');
    recover();
    expect([existsSync(config()), existsSync(answer()), notified()]).toEqual([false, false, '']);
  });

  it('fails a config whose hook was killed in the third run, or in the first when its options say so', () => {
    for (const run of [1, 2]) {
      writeFileSync(config(), '{}');
      recover();
      expect([run, existsSync(config()), notified()]).toEqual([run, false, '']);
    }
    writeFileSync(config(), '{}');
    recover();
    expect(notified()).toContain('"deploy_status_code":125');
    rmSync(join(folder, 'notified'));
    recover();
    expect(notified()).toContain('"deploy_status_code":125');

    for (const file of ['notified', `${id}.interrupted`, `${id}.notify.json`]) rmSync(join(folder, file));
    recover({ ...request, options: { on_interrupt: 'fail' } });
    expect(notified()).toContain('interrupted');
  });

  it('changes nothing while the hook runs, and when the config never began', async () => {
    writeFileSync(config(), '{}');
    const hook = spawn('/bin/sh', ['-c', 'read line', `/working/${id}`]);
    try {
      await eventually(() => readFileSync(`/proc/${hook.pid}/cmdline`, 'utf8').includes(id), { what: 'the hook' });
      recover();
      expect(existsSync(config())).toBe(true);
    } finally {
      const ended = new Promise((resolve) => hook.once('exit', resolve));
      hook.kill('SIGKILL');
      await ended;
    }
    rmSync(config());
    recover();
    expect(notified()).toBe('');
  });

  it('is a new config for each attempt, and absent for data that no hook applies', () => {
    expect(recoveryOf(request, 1)?.['id']).not.toBe(recoveryOf(request, 2)?.['id']);
    expect(recoveryOf(request, 1)).toEqual(recoveryOf(request, 1));
    expect(recoveryOf({ ...request, group: 'os-apply-config' }, 1)).toBeUndefined();
  });

  it('is absent for an id that a shell could read as more than a name', () => {
    expect(recoveryOf({ ...request, id: '$(reboot)' }, 1)).toBeUndefined();
  });
});
