/**
 * The guarantees of every agent, against the real gateway and configuration service.
 *
 * `ANNEAL_TEST_SEED` repeats the kills of an earlier run.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHash, randomBytes } from 'node:crypto';
import { deploymentShow, type DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { hostDelete, hostShow } from '@anneal/contracts/calls/hosts.ts';
import { outputRead } from '@anneal/contracts/output.ts';
import { project } from '@anneal/configuration/testing/running-service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { randomOf } from '../../chaos/random.ts';
import type { AgentKind, TestHost } from './adapters.ts';
import { createAgentWorld, storedLimit, type AgentWorld } from './world.ts';

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
/** The stored bytes of a stream or an output, read in pages as a download does. */
async function stored(deployment: string, name: string): Promise<Buffer> {
  const pages: Buffer[] = [];
  for (let offset = 0; ;) {
    const { parts } = await world.rig.ask(outputRead, { project, deployment, from: [{ name, offset }] });
    const [part] = parts;
    if (!part || part.next === offset) return Buffer.concat(pages);
    pages.push(Buffer.from(part.data, 'base64'));
    offset = part.next;
  }
}
const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
const line = (file: string, wanted: string): Promise<true> =>
  eventually(() => (linesOf(file).includes(wanted) ? true : undefined), {
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

/** Registers the tests of the guarantees for an agent. */
export const agentConformance = (kind: AgentKind): void => {
  describe.each([kind])('$name', (each) => {
    register(each);
  });
};

function register(kind: AgentKind): void {
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
    const deployment = await world.apply(id, script, { timeout: 6 });
    host.start();
    await line(log, 'begins');
    await host.kill();
    host.start();
    expect(await ended(deployment)).toMatchObject({ status: 'FAILED', status_code: 124, stdout: 'before\n' });
    const pids = linesOf(log).slice(0, 2).map(Number);
    await eventually(() => (pids.some(isAlive) ? undefined : true), { what: 'the end of the processes' });
  });

  guarantee(
    'reports the deadline of a config that ends with 0 at SIGTERM, also after a kill of the agent',
    async () => {
      const { host, id, log } = await prepare();
      const script = `trap 'echo ending >>"${log}"; sleep 0.5; exit 0' TERM; while :; do sleep 0.1; done`;
      const deployment = await world.apply(id, script, { timeout: 3 });
      host.start();
      await line(log, 'ending');
      await host.kill();
      host.start();
      expect(await ended(deployment)).toMatchObject({
        status: 'FAILED',
        reason: expect.stringContaining('it ran longer than'),
      });
    },
  );

  guarantee('sends the end of a long stream, and refuses an output that is too large', async () => {
    const { host, id } = await prepare();
    const long = await world.apply(id, `yes | head -c 300000; echo the end`);
    const large = await world.apply(
      id,
      `printf fine >"$heat_outputs_path.a"; head -c ${storedLimit + 1} /dev/zero >"$heat_outputs_path.b"`,
    );
    host.start();
    const view = await ended(long);
    expect(view.status).toBe('COMPLETE');
    expect(view.stdout.endsWith('y\nthe end\n')).toBe(true);
    expect(view.stdout.length).toBeLessThanOrEqual(65_536);
    const refused = await ended(large);
    expect(refused.status).toBe('FAILED');
    expect(refused.reason).toMatch(/output b.* longer than the server stores \(ANNEAL_CONFIGURATION_OUTPUT_BYTES\)/);
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

  guarantee('sends output as it appears, and each byte once, also when it is killed meanwhile', async () => {
    const { host, id, gate } = await prepare();
    const script = `echo first; until [ -e '${gate}' ]; do sleep 0.05; done; printf '\\377\\000\\n'; yes y | head -c 150000; echo error >&2`;
    const deployment = await world.apply(id, script);
    host.start();
    await eventually(async () => ((await stored(deployment, 'stdout')).toString() === 'first\n' ? true : undefined), {
      what: 'the first line while the config runs',
    });
    expect((await show(deployment)).status).toBe('IN_PROGRESS');
    await host.kill();
    writeFileSync(gate, '');
    host.start();
    expect(await ended(deployment)).toMatchObject({ status: 'COMPLETE' });
    const whole = Buffer.concat([Buffer.from('first\n\xff\0\n', 'latin1'), Buffer.alloc(150_000, 'y\n')]);
    expect((await stored(deployment, 'stdout')).equals(whole)).toBe(true);
    expect((await stored(deployment, 'stderr')).toString()).toBe('error\n');
  });

  guarantee('runs a config of 2 MB unchanged', async () => {
    const { host, id } = await prepare();
    const filler = randomBytes(1_500_000).toString('base64').replaceAll(/.{76}/g, '# $&\n');
    const script = `#!/bin/sh\n${filler.slice(0, filler.lastIndexOf('\n'))}\nsha256sum "$0" | head -c 64`;
    const deployment = await world.apply(id, script);
    host.start();
    const view = await ended(deployment);
    expect(view).toMatchObject({ status: 'COMPLETE' });
    const sums = [script, `${script}\n`].map((text) => createHash('sha256').update(text).digest('hex'));
    expect(sums).toContain(view.stdout);
  });

  guarantee('runs a long config once when it is killed again and again while it fetches it', async () => {
    process.stderr.write(`ANNEAL_TEST_SEED=${seed}\n`);
    const random = randomOf(seed);
    const { host, id, log } = await prepare();
    const filler = `: ${randomBytes(1_500_000).toString('base64')}\n`;
    const long = await world.apply(id, `#!/bin/sh\n${filler}echo long >>'${log}'\n`);
    const next = await world.apply(id, `echo next >>'${log}'`);
    for (let kills = 0; kills < 6; kills += 1) {
      host.start();
      await sleep(random() * 600);
      await host.kill();
    }
    host.start();
    expect(await ended(long)).toMatchObject({ status: 'COMPLETE' });
    expect(await ended(next)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['long', 'next']);
    expect(await world.rig.ask(hostShow, { host: id })).toMatchObject({ unexpected_total: 0 });
    const kept = readdirSync(host.directory, { recursive: true, encoding: 'utf8' });
    await eventually(
      () =>
        kept.some((name) => /\/fetched\.\d+$/.test(name) && existsSync(join(host.directory, name))) ? undefined : true,
      {
        what: 'the end of unfinished fetches',
      },
    );
  });

  guarantee('sends long outputs, and outputs that are no text, byte by byte', async () => {
    const { host, id } = await prepare();
    const bytes = randomBytes(300_000);
    const short = Buffer.from([0xff, 0, 0x0d, 0x0a, 0xc3]);
    const [file, binary] = [join(host.directory, 'long'), join(host.directory, 'short')];
    writeFileSync(file, bytes);
    writeFileSync(binary, short);
    const deployment = await world.apply(
      id,
      `cat '${file}' >"$heat_outputs_path.long"; cat '${binary}' >"$heat_outputs_path.short"; cat '${binary}'; printf text >"$heat_outputs_path.text"`,
    );
    host.start();
    const view = await ended(deployment);
    expect(view).toMatchObject({ status: 'COMPLETE', output_values: { text: 'text' } });
    expect(view.output_values['long']).toBe(
      `${world.rig.context.gatewayUrl}/api/v1/deployments/${deployment}/output/outputs.long`,
    );
    expect((await stored(deployment, 'outputs.long')).equals(bytes)).toBe(true);
    expect((await stored(deployment, 'outputs.short')).equals(short)).toBe(true);
    expect((await stored(deployment, 'stdout')).equals(short)).toBe(true);
    expect(view.stdout).toContain('\ufffd');
  });

  guarantee('ends a replaced config with all that it started, and then runs the newer one', async () => {
    const { host, id, log } = await prepare();
    const detached = `setsid sh -c 'trap "" TERM HUP; echo $$ >>"${log}"; exec sleep 600' >/dev/null 2>&1 </dev/null &`;
    const script = `trap '' TERM; sleep 600 & echo $! >>'${log}'; ${detached} echo $$ >>'${log}'; echo begins >>'${log}'; while :; do sleep 1; done`;
    const deployment = await world.apply(id, script, { grace: 1 });
    const waiting = await world.apply(id, `echo waiting >>'${log}'`);
    host.start();
    await eventually(() => (linesOf(log).length === 4 ? true : undefined), {
      what: 'the start of all processes',
      last: () => linesOf(log),
    });
    const pids = linesOf(log)
      .filter((text) => /^\d+$/.test(text))
      .map(Number);
    expect(pids).toHaveLength(3);
    await world.replace(waiting, id, `echo instead >>'${log}'`);
    await world.replace(deployment, id, `echo newer >>'${log}'`);
    expect(await ended(deployment)).toMatchObject({ status: 'COMPLETE' });
    expect(await ended(waiting)).toMatchObject({ status: 'COMPLETE' });
    expect(pids.filter(isAlive)).toEqual([]);
    expect(linesOf(log).slice(4)).toEqual(['instead', 'newer']);
    expect(await world.rig.ask(hostShow, { host: id })).toMatchObject({ unexpected_total: 0 });
  });

  guarantee(
    'ends its config and takes no other one when its host is deleted, also while it cannot reach the server',
    async () => {
      const { host, id, log } = await prepare();
      const deployment = await world.apply(id, `sleep 600 & echo $! >>'${log}'; echo $$ >>'${log}'; wait`, {
        grace: 1,
      });
      await world.apply(id, `echo next >>'${log}'`);
      host.start();
      await eventually(() => (linesOf(log).length === 2 ? true : undefined), { what: 'the processes' });
      await world.stopGateway();
      await world.rig.ask(hostDelete, { id });
      expect(await ended(deployment)).toMatchObject({ status: 'FAILED' });
      await world.startGateway();
      const pids = linesOf(log).map(Number);
      await eventually(() => (pids.some(isAlive) ? undefined : true), {
        what: 'the end of the config',
      });
      expect(linesOf(log)).toHaveLength(2);
    },
  );

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
}
