/**
 * The guarantees of every agent, tested with each one against the real gateway and configuration service.
 *
 * `ANNEAL_TEST_SEED` repeats the kills of an earlier run.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deploymentShow, hostShow, type DeploymentView } from '@anneal/contracts/configuration.ts';
import { project } from '@anneal/configuration/testing/running-service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { randomOf } from '../../chaos/random.ts';
import { agentKinds, type TestHost } from './adapters.ts';
import { createAgentWorld, type AgentWorld } from './world.ts';

const seed = Number(process.env['ANNEAL_TEST_SEED'] ?? Date.now() % 1_000_000);

let world: AgentWorld;
const directories: string[] = [];
const hosts: TestHost[] = [];
beforeAll(async () => {
  world = await createAgentWorld();
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.cutPower();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});
afterAll(() => world.dispose());

const show = (id: string): Promise<DeploymentView> => world.rig.ask(deploymentShow, { project, deployment: id });
const ended = (id: string, within = 60_000): Promise<DeploymentView> =>
  eventually(
    async () => {
      const view = await show(id);
      return view.status === 'IN_PROGRESS' ? undefined : view;
    },
    { within, what: `the end of deployment ${id}` },
  );
const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
const line = (file: string, wanted: string): Promise<true> =>
  eventually(() => (linesOf(file).includes(wanted) ? true : undefined), {
    within: 60_000,
    what: `the line ${wanted}`,
    last: () => linesOf(file),
  });

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe.each(agentKinds)('$name', (kind) => {
  async function prepare() {
    const directory = mkdtempSync(join(tmpdir(), 'anneal-agent-host-'));
    directories.push(directory);
    const home = join(directory, 'host');
    mkdirSync(home);
    const { host_id: id, ...rest } = await world.host(`host${directory.slice(-6)}`);
    const host = await kind.host({ host_id: id, ...rest }, home);
    hosts.push(host);
    return { host, id, log: join(directory, 'log'), gate: join(directory, 'gate') };
  }
  const guarantee = (name: string, test: () => Promise<void>): void =>
    it.skipIf(kind.missing !== undefined)(`${name}${kind.missing === undefined ? '' : ` (${kind.missing})`}`, test);

  guarantee('runs configs in order, each once, while it is killed again and again', async () => {
    process.stderr.write(`ANNEAL_TEST_SEED=${seed}\n`);
    const random = randomOf(seed);
    const { host, id, log } = await prepare();
    const count = 8;
    const names = Array.from({ length: count }, (_, index) => `c${index}`);
    const deployments: string[] = [];
    for (const name of names) {
      deployments.push(
        await world.apply(id, `echo ${name} begins >>'${log}'; sleep 0.2; echo ${name} ends >>'${log}'`),
      );
    }
    host.start();
    for (const name of names) {
      // At a random moment: before, during or after the run of this config.
      await line(log, `${name} begins`);
      await sleep(random() * 500);
      await host.kill();
      host.start();
    }
    const views = await Promise.all(deployments.map((each) => ended(each)));
    expect(views.map(({ status }) => status)).toEqual(names.map(() => 'COMPLETE'));
    expect(linesOf(log)).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  guarantee('answers a config that ended while the agent was dead, without starting it again', async () => {
    const { host, id, log, gate } = await prepare();
    const deployment = await world.apply(
      id,
      `echo begins >>'${log}'; until [ -e '${gate}' ]; do sleep 0.05; done; echo ends >>'${log}'; echo done; exit 3`,
    );
    host.start();
    await line(log, 'begins');
    await host.kill();
    writeFileSync(gate, '');
    await line(log, 'ends');
    host.start();
    expect(await ended(deployment)).toMatchObject({ status: 'FAILED', status_code: 3, stdout: 'done\n' });
    expect(linesOf(log)).toEqual(['begins', 'ends']);
  });

  guarantee('reports a config that a power cut interrupted, and starts it only once', async () => {
    const { host, id, log } = await prepare();
    const deployment = await world.apply(id, `echo begins >>'${log}'; sleep 600`, { on_interrupt: 'fail' });
    const after = await world.apply(id, `echo after >>'${log}'`);
    host.start();
    await line(log, 'begins');
    await host.cutPower();
    host.start();
    const view = await ended(deployment);
    expect(view).toMatchObject({ status: 'FAILED', status_code: 125 });
    expect(view.reason).toMatch(/interrupted: /);
    expect(await ended(after)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['begins', 'after']);
  });

  guarantee('ends a config with its children at its deadline, also after a kill of the agent', async () => {
    const { host, id, log } = await prepare();
    const script = `sleep 600 & echo $! >>'${log}'; echo $$ >>'${log}'; echo before; echo begins >>'${log}'; wait`;
    const deployment = await world.apply(id, script, { timeout: 3 });
    host.start();
    await line(log, 'begins');
    await host.kill();
    host.start();
    expect(await ended(deployment)).toMatchObject({ status: 'FAILED', status_code: 124, stdout: 'before\n' });
    const pids = linesOf(log).slice(0, 2).map(Number);
    await eventually(() => (pids.some(isAlive) ? undefined : true), { what: 'the end of the processes' });
  });

  guarantee('sends the end of a long stream, and refuses an output that is too large', async () => {
    const { host, id } = await prepare();
    const long = await world.apply(id, `yes | head -c 300000; echo the end`);
    const large = await world.apply(
      id,
      `printf fine >"$heat_outputs_path.a"; head -c 70000 /dev/zero >"$heat_outputs_path.b"`,
    );
    host.start();
    const view = await ended(long);
    expect(view.status).toBe('COMPLETE');
    expect(view.stdout.endsWith('y\nthe end\n')).toBe(true);
    expect(view.stdout.length).toBeLessThanOrEqual(65_536);
    const refused = await ended(large);
    expect(refused.status).toBe('FAILED');
    expect(refused.reason).toMatch(/output b.* more than 65536 bytes/);
    expect(refused.output_values).toEqual({ a: 'fine' });
  });

  guarantee('reports the start of a config while it runs', async () => {
    const { host, id, log, gate } = await prepare();
    const deployment = await world.apply(id, `echo begins >>'${log}'; until [ -e '${gate}' ]; do sleep 0.05; done`);
    host.start();
    await eventually(async () => (await show(deployment)).started_at ?? undefined, { what: 'the report of the start' });
    expect((await show(deployment)).status).toBe('IN_PROGRESS');
    expect(await world.rig.ask(hostShow, { host: id })).toMatchObject({ status: 'up' });
    writeFileSync(gate, '');
    expect(await ended(deployment)).toMatchObject({ status: 'COMPLETE' });
  });

  guarantee('answers and continues when the server returns', async () => {
    const { host, id, log, gate } = await prepare();
    const first = await world.apply(id, `echo begins >>'${log}'; until [ -e '${gate}' ]; do sleep 0.05; done`);
    host.start();
    await line(log, 'begins');
    await world.stopGateway();
    writeFileSync(gate, '');
    const second = await world.apply(id, `echo second >>'${log}'`);
    await host.kill();
    host.start();
    await world.startGateway();
    expect(await ended(first)).toMatchObject({ status: 'COMPLETE' });
    expect(await ended(second)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['begins', 'second']);
  });

  guarantee('continues with a renewed token, also in the middle of a config', async () => {
    const { host, id, log, gate } = await prepare();
    const first = await world.apply(id, `echo begins >>'${log}'; until [ -e '${gate}' ]; do sleep 0.05; done`);
    host.start();
    await line(log, 'begins');
    host.renew(await world.renew(id));
    writeFileSync(gate, '');
    expect(await ended(first)).toMatchObject({ status: 'COMPLETE' });
    host.renew(await world.renew(id));
    const second = await world.apply(id, `echo second >>'${log}'`);
    expect(await ended(second)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['begins', 'second']);
  });

  guarantee('is replaced by a config, and the new version runs the next one', async () => {
    const { host, id, log } = await prepare();
    const marker = join(host.directory, 'version-2');
    const update = await world.apply(id, `echo update >>'${log}'\n${host.updateScript(marker)}`);
    host.start();
    expect(await ended(update)).toMatchObject({ status: 'COMPLETE' });
    await eventually(() => (existsSync(marker) ? true : undefined), { what: 'the new version' });
    const next = await world.apply(id, `echo next >>'${log}'`);
    expect(await ended(next)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['update', 'next']);
  });

  guarantee('survives a config that kills everything that it can name', async () => {
    const { host, id, log } = await prepare();
    const script = `echo begins >>'${log}'; kill -9 $PPID; kill -9 -$$; kill -9 $$`;
    const hostile = await world.apply(id, script, { on_interrupt: 'fail' });
    const next = await world.apply(id, `echo next >>'${log}'`);
    host.start();
    expect(await ended(hostile)).toMatchObject({ status: 'FAILED' });
    expect(await ended(next)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['begins', 'next']);
  });
});
