/** The example hosts in Python on real brokers. Skipped when Python, PyPI or the broker is not available. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Rig } from '@anneal/configuration/testing/running-service.ts';
import { hostDelete } from '@anneal/contracts/calls/hosts.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { installFromPypi, requirementsOf } from '../backends/pypi.ts';
import { repository } from '../e2e/server.ts';
import { createBrokerRig, findHostBroker, grantTo, natsKind, rabbitKind } from '../system/agents/broker-world.ts';

const examples = join(repository, 'examples', 'hosts');
const folder = await mkdtemp(join(tmpdir(), 'anneal-python-hosts-'));
afterAll(() => rm(folder, { recursive: true, force: true }));
const installed = await installFromPypi(await requirementsOf(examples));

const cases = [
  { kind: rabbitKind, program: 'host_rabbitmq.py' },
  { kind: natsKind, program: 'host_nats.py' },
];

for (const { kind, program } of cases) {
  const found = await findHostBroker(kind, 'missing' in installed ? installed : {});
  describe.skipIf(found === undefined)(`the example host on ${kind.name}`, () => {
    if (!found || 'missing' in installed) return;
    let rig: Rig;
    beforeAll(async () => {
      rig = await createBrokerRig(found);
    });
    afterAll(async () => {
      await rig.dispose();
      await found.server.stop();
    });

    const start = async (name: string) => {
      const words = ['--access', join(folder, `${name}.json`), '--journal', join(folder, name), '--heartbeat', '0.5'];
      const child = spawn(join(installed.bin, 'python'), [join(examples, program), ...words], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      let printed = '';
      child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      await eventually(() => printed.includes('listening'), {
        what: 'the program',
        last: () => printed,
      });
      const exited = new Promise<number | null>((resolve) => void child.once('exit', resolve));
      return {
        exited,
        kill: () =>
          new Promise<void>((resolve) => {
            child.once('exit', () => resolve());
            child.kill('SIGKILL');
          }),
      };
    };
    const newHost = async (name: string): Promise<string> => {
      const { id } = await rig.host(name);
      await writeFile(join(folder, `${name}.json`), JSON.stringify(await grantTo(rig, id)), { mode: 0o600 });
      return id;
    };
    const offer = async (host: string, script: string, more: JsonObject = {}): Promise<string> => {
      const properties = { hosted_on: host, script, ...more };
      return (await rig.request('create', { type: 'OS::Heat::OrderedConfig', properties })).resource.id;
    };

    it('runs configs in order, with inputs and outputs, beyond its heartbeats', async () => {
      const name = `${kind.name}-order`;
      const host = await newHost(name);
      const log = join(folder, `${name}.log`);
      const ids = [
        await offer(host, `echo first >>'${log}'; sleep 1.5; printf 8080 >"$heat_outputs_path.port"`, {
          outputs: [{ name: 'port' }],
        }),
        await offer(host, `echo "$word" >>'${log}'`, { inputs: [{ name: 'word', default: 'second' }] }),
        await offer(host, 'echo out; echo err >&2; exit 3'),
      ];
      await start(name);
      const answers = await Promise.all(ids.map((id) => rig.final(id)));
      expect(answers.map(({ status }) => status)).toEqual(['complete', 'complete', 'failed']);
      expect(answers[0]?.attributes).toMatchObject({ port: '8080' });
      expect(JSON.stringify(answers[2]?.error)).toContain('err');
      expect(await readFile(log, 'utf8')).toBe('first\nsecond\n');
      // A config for a host that waits.
      const later = await offer(host, `echo later >>'${log}'`);
      expect((await rig.final(later)).status).toBe('complete');
    });

    it('that is killed during a config reports it as interrupted, and never runs it again', async () => {
      const name = `${kind.name}-killed`;
      const host = await newHost(name);
      const log = join(folder, `${name}.log`);
      const running = await start(name);
      const config = await offer(host, `echo once >>'${log}'; exec sleep 20`);
      await eventually(() =>
        readFile(log, 'utf8').then(
          (text) => text === 'once\n',
          () => false,
        ),
      );
      await running.kill();
      await start(name);
      const { status, error } = await rig.final(config);
      expect({ status, error: JSON.stringify(error) }).toEqual({
        status: 'failed',
        error: expect.stringContaining('interrupted') as string,
      });
      expect((await rig.final(await offer(host, `echo next >>'${log}'`))).status).toBe('complete');
      expect(await readFile(log, 'utf8')).toBe('once\nnext\n');
    });

    it('ends with its config and all the children of it when its host is deleted', async () => {
      const name = `${kind.name}-deleted`;
      const host = await newHost(name);
      const log = join(folder, `${name}.log`);
      const running = await start(name);
      await offer(host, `sleep 300 & echo $! >'${log}'; wait`);
      const child = await eventually(async () => Number(await readFile(log, 'utf8').catch(() => '')) || undefined);
      await rig.ask(hostDelete, { id: host });
      expect(await running.exited).toBe(0);
      // Killed, and perhaps not collected by its new parent.
      const stat = await readFile(`/proc/${child}/stat`, 'utf8').catch(() => 'gone');
      expect(stat).toMatch(/^gone$|\) [ZX] /);
    });
  });
}
