/** Requests that the gateway pushes over one connection, to the example host in Python and to a client of this test. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deploymentShow, type DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { hostDelete, hostShow } from '@anneal/contracts/calls/hosts.ts';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { project } from '@anneal/configuration/testing/running-service.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAgentWorld, type AgentWorld } from './world.ts';

const python = spawnSync('python3', ['--version']).status === 0;
let world: AgentWorld;
let directory: string;
const programs: ChildProcess[] = [];
beforeAll(async () => {
  world = await createAgentWorld();
  directory = mkdtempSync(join(tmpdir(), 'anneal-push-'));
});
afterEach(() => {
  for (const program of programs.splice(0)) program.kill('SIGKILL');
});
afterAll(async () => {
  await world.dispose();
  rmSync(directory, { recursive: true, force: true });
});

const ended = (id: string): Promise<DeploymentView> =>
  eventually(
    async () => {
      const view = await world.rig.ask(deploymentShow, { project, deployment: id });
      return view.status === 'IN_PROGRESS' ? undefined : view;
    },
    { what: `the end of deployment ${id}` },
  );
const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
const line = (file: string, wanted: string) =>
  eventually(() => (linesOf(file).includes(wanted) ? true : undefined), {
    what: `the line ${wanted}`,
    last: () => linesOf(file),
  });

describe.skipIf(!python)('the example host that gets its configs pushed', () => {
  const start = (seed: BootSeed): ChildProcess => {
    const file = join(directory, `${seed.hostname}.json`);
    writeFileSync(file, JSON.stringify(seed));
    const program = join(import.meta.dirname, '../../../examples/hosts/host_push.py');
    const words = [program, '--seed', file, '--journal', join(directory, seed.hostname)];
    const child = spawn('python3', words, { stdio: ['ignore', 'inherit', 'inherit'] });
    programs.push(child);
    return child;
  };

  it('runs configs in order and once, across a restart of the gateway and its own death', async () => {
    const seed = await world.host('pushed');
    const log = join(directory, 'pushed.log');
    const gate = join(directory, 'gate');
    const ids = [
      await world.apply(seed.host_id, `echo first >>'${log}'; until [ -e '${gate}' ]; do sleep 0.05; done`),
      await world.apply(seed.host_id, `echo second >>'${log}'; printf 5 >"$heat_outputs_path.port"`),
    ];
    const child = start(seed);
    await line(log, 'first');
    await world.stopGateway();
    await world.startGateway();
    writeFileSync(gate, '');
    const views = await Promise.all(ids.map((id) => ended(id)));
    expect(views.map(({ status }) => status)).toEqual(['COMPLETE', 'COMPLETE']);
    const killed = await world.apply(seed.host_id, `echo killed >>'${log}'; exec sleep 20`);
    await line(log, 'killed');
    child.kill('SIGKILL');
    start(seed);
    expect(await ended(killed)).toMatchObject({ status: 'FAILED' });
    const last = await world.apply(seed.host_id, `echo last >>'${log}'`);
    expect(await ended(last)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['first', 'second', 'killed', 'last']);
    expect(await world.rig.ask(hostShow, { host: seed.host_id })).toMatchObject({ status: 'up', unexpected_total: 0 });
  });

  it('stops a config that a newer one replaces', async () => {
    const seed = await world.host('stopped');
    const log = join(directory, 'stopped.log');
    const id = await world.apply(seed.host_id, `echo begins >>'${log}'; sleep 600; echo never >>'${log}'`);
    start(seed);
    await line(log, 'begins');
    await world.replace(id, seed.host_id, `echo newer >>'${log}'`);
    expect(await ended(id)).toMatchObject({ status: 'COMPLETE' });
    expect(linesOf(log)).toEqual(['begins', 'newer']);
  });
});

describe('the connection of a host', () => {
  const connect = async (seed: BootSeed, last?: string) => {
    const leaving = new AbortController();
    const headers = { 'x-auth-token': seed.token, ...(last !== undefined && { 'last-event-id': last }) };
    const response = await fetch(`${world.url}/agent/v1/requests`, { headers, signal: leaving.signal });
    let text = '';
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    })().catch(() => undefined);
    return {
      status: response.status,
      leave: () => leaving.abort(),
      ended: reading,
      event: (name: string) =>
        eventually(
          () => {
            const found = new RegExp(`^event: ${name}\\n(?:id: (.*)\\n)?data: (.*)\\n\\n`, 'm').exec(text);
            return found
              ? { id: found[1] ?? '', data: JSON.parse(found[2] ?? '') as { request: { id: string } } }
              : undefined;
          },
          { what: `the event ${name}`, last: () => text },
        ),
    };
  };

  it('gives a host that comes back its request again only when it lost it, and refuses a deleted host', async () => {
    const seed = await world.host('resuming');
    const deployment = await world.apply(seed.host_id, 'true');
    const first = await connect(seed);
    const { id, data } = await first.event('request');
    first.leave();
    const second = await connect(seed, id);
    await second.event('held');
    second.leave();
    const third = await connect(seed);
    expect((await third.event('request')).data.request.id).toBe(data.request.id);
    await world.rig.post(seed.host_id, { id: data.request.id, status_code: 0 });
    expect(await ended(deployment)).toMatchObject({ status: 'COMPLETE' });
    await world.rig.ask(hostDelete, { id: seed.host_id });
    expect((await connect(seed)).status).toBe(410);
    third.leave();
  });

  it('is refused without the token of a host', async () => {
    const seed = await world.host('refused');
    expect((await connect({ ...seed, token: 'wrong' })).status).toBe(401);
  });
});
