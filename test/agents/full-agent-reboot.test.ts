/** Configs that reboot their host. The machine is a folder: its "reboot" writes another boot id, and a test ends the agent. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openJournal } from '@anneal/agent/journal.ts';
import { hostMachine, isSameBoot } from '@anneal/agent/machine.ts';
import { startAgent, type Agent } from '@anneal/agent/start.ts';
import { agentOptions, scriptRequest, StandIn, temporaryFolder, until } from '@anneal/agent/testing/fixture.ts';

let server: StandIn;
let directory: string;
let root: string;
const agents: Agent[] = [];

beforeEach(async () => {
  server = await new StandIn().start();
  server.takesAnswers = true;
  directory = temporaryFolder();
  root = join(directory, 'machine');
  for (const folder of ['proc/sys/kernel/random', 'run/systemd/shutdown']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  boot('boot-0');
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.kill();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const bootFile = (): string => join(root, 'proc/sys/kernel/random/boot_id');
const boot = (id: string): void => writeFileSync(bootFile(), `${id}\n`);
const ordered = (): string => join(directory, 'ordered');
const lines = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

/** The program that reboots: it notes the order, and does `more`. */
function program(more = ''): string {
  const file = join(directory, 'reboot-program');
  writeFileSync(file, `#!/bin/sh\necho ordered >>'${ordered()}'\n${more}\n`, { mode: 0o755 });
  return file;
}
const reboots = (): string => program(`echo boot-$(wc -l <'${ordered()}') >'${bootFile()}'`);

async function start(order = reboots()): Promise<Agent> {
  const machine = hostMachine({ root, program: order });
  const agent = await startAgent({ ...agentOptions(server, directory), machine });
  agents.push(agent);
  return agent;
}
const offer = (script: string, options: Record<string, Json> = {}) => {
  const request = scriptRequest(script, { options });
  server.offer(request as never);
  return request;
};
const responseTo = ({ id }: { id: string }): Promise<HostResponse> =>
  until(() => server.responses.find((each) => each.id === id), `a response to ${id}`);
const log = (): string => join(directory, 'log');

describe('reboot: after', () => {
  it('answers a success after the boot, with its outputs, and runs it once; no other config runs in between', async () => {
    const first = offer(`echo first >>${log()}; printf %s ok >"$heat_outputs_path.said"; echo text`, {
      reboot: 'after',
    });
    const second = offer(`echo second >>${log()}`);
    const agent = await start(program());
    await until(() => lines(ordered()).length === 1, 'the order to reboot');
    expect(server.reboots).toEqual([{ id: first.id, number: 1 }]);
    agent.kill();
    expect(server.responses).toEqual([]);
    boot('boot-1');
    await start();
    expect(await responseTo(first)).toMatchObject({
      status_code: 0,
      outputs: { said: 'ok' },
      stdout: 'text\n',
      reboots: 1,
    });
    await responseTo(second);
    expect(server.responses.map(({ id }) => id)).toEqual([first.id, second.id]);
    expect(lines(log())).toEqual(['first', 'second']);
    expect(lines(ordered())).toHaveLength(1);
  });

  it('does not reboot after a failure, and answers it at once', async () => {
    const request = offer('exit 3', { reboot: 'after' });
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 3 });
    expect(lines(ordered())).toEqual([]);
  });

  it('B1, B2: orders the reboot again when the agent died before it, and takes no other config', async () => {
    const first = offer(`echo first >>${log()}`, { reboot: 'after' });
    const second = offer(`echo second >>${log()}`);
    for (const orders of [1, 2]) {
      const agent = await start(program());
      await until(() => lines(ordered()).length === orders, `order ${orders}`);
      agent.kill();
    }
    await start();
    await responseTo(first);
    await responseTo(second);
    expect(lines(log())).toEqual(['first', 'second']);
  });

  it('reboots when the server cannot be reached', async () => {
    const request = offer(`echo first >>${log()}`, { reboot: 'after' });
    server.refusesReboots = true;
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 0, reboots: 1 });
    expect(lines(log())).toEqual(['first']);
  });

  it('B3: fails with the reason of a program that refuses the order, and keeps the outputs', async () => {
    const request = offer('printf %s ok >"$heat_outputs_path.said"', { reboot: 'after' });
    await start(program('echo not permitted >&2; exit 1'));
    const response = await responseTo(request);
    expect(response).toMatchObject({ status_code: 125, outputs: { said: 'ok' } });
    expect(response.error).toMatch(/^cannot reboot the host: .* ended with 1: not permitted/);
  });

  it('B3: fails when the host does not go down within its limit', async () => {
    const request = offer('true', { reboot: 'after', reboot_timeout: 1 });
    await start(program());
    expect((await responseTo(request)).error).toMatch(/has not gone down within 1 s \(options.reboot_timeout\)/);
  });

  it('fails on a machine that cannot tell one boot from another, and with an agent without a machine', async () => {
    rmSync(bootFile());
    const request = offer('true', { reboot: 'after' });
    await start();
    expect((await responseTo(request)).error).toMatch(/nothing on this host tells one boot from another/);
    expect(lines(ordered())).toEqual([]);
  });

  it('does not reboot again when the host lost power after the config had ended', async () => {
    const request = offer(`echo first >>${log()}`, { reboot: 'after' });
    const agent = await start(program());
    await until(() => lines(ordered()).length === 1, 'the order to reboot');
    agent.kill();
    // As if the agent had died before it noted the end.
    const journal = openJournal(join(directory, 'journal.db'));
    const { reboot: _pending, ...entry } = journal.get(request.id) ?? expect.fail('no entry');
    journal.put({ ...entry, result: null });
    journal.close();
    boot('boot-1');
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 0, reboots: 1 });
    expect(lines(log())).toEqual(['first']);
    expect(lines(ordered())).toHaveLength(1);
  });
});

describe('reboot: on status 194', () => {
  it('runs the script again after each reboot, with their number, and the working folder as it was', async () => {
    const request = offer(
      `echo "$ANNEAL_REBOOTS" >>mine; [ "$ANNEAL_REBOOTS" = 2 ] || exit 194; printf %s "$(cat mine)" >"$heat_outputs_path.turns"`,
      { reboot: 'on status 194' },
    );
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 0, reboots: 2, outputs: { turns: '0\n1\n2' } });
    expect(server.reboots).toEqual([
      { id: request.id, number: 1 },
      { id: request.id, number: 1, over: true },
      { id: request.id, number: 2 },
      { id: request.id, number: 2, over: true },
    ]);
  });

  it('B3: fails after three reboots', async () => {
    const request = offer(`echo x >>${log()}; exit 194`, { reboot: 'on status 194' });
    await start();
    const response = await responseTo(request);
    expect(response).toMatchObject({ status_code: 125, reboots: 3 });
    expect(response.error).toMatch(/rebooted 3 times for it, which is the most/);
    expect(lines(ordered())).toHaveLength(3);
    expect(lines(log())).toHaveLength(4);
  });

  it('continues over power cuts at each step', async () => {
    const request = offer(`echo "$ANNEAL_REBOOTS" >>${log()}; [ "$ANNEAL_REBOOTS" = 2 ] || exit 194`, {
      reboot: 'on status 194',
    });
    const after = offer(`echo after >>${log()}`);
    for (const orders of [1, 2]) {
      const agent = await start(program());
      await until(() => lines(ordered()).length === orders, `order ${orders}`);
      agent.kill();
      boot(`boot-${orders}`);
    }
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 0, reboots: 2 });
    await responseTo(after);
    expect(lines(log())).toEqual(['0', '1', '2', 'after']);
  });

  it('does not run a withdrawn config again after the boot', async () => {
    const request = offer(`echo x >>${log()}; exit 194`, { reboot: 'on status 194' });
    const agent = await start(program());
    await until(() => lines(ordered()).length === 1, 'the order to reboot');
    agent.kill();
    server.withdraw(request.id);
    boot('boot-1');
    const other = offer('true');
    await start();
    await responseTo(other);
    expect(lines(log())).toHaveLength(1);
  });

  it('is a failure as any other without the option', async () => {
    const request = offer('exit 194');
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 194 });
    expect(lines(ordered())).toEqual([]);
  });
});

describe('reboot: allowed', () => {
  const own = `echo "$ANNEAL_REBOOTS" >>LOG; [ "$ANNEAL_REBOOTS" -ge 2 ] || sleep 60`;

  it('runs a script again that the reboot of its host ended, with its number', async () => {
    const request = offer(own.replace('LOG', log()), { reboot: 'allowed', on_interrupt: 'fail' });
    for (const turn of [1, 2]) {
      const agent = await start();
      await until(() => lines(log()).length === turn, `turn ${turn}`);
      agent.kill();
      boot(`boot-${turn}`);
    }
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 0, reboots: 2 });
    expect(lines(log())).toEqual(['0', '1', '2']);
    expect(lines(ordered())).toEqual([]);
  });

  it('runs a script again whose program the shutdown ended with a status', async () => {
    const request = offer(`echo "$ANNEAL_REBOOTS" >>${log()}; [ "$ANNEAL_REBOOTS" = 1 ] || kill -TERM $$`, {
      reboot: 'allowed',
    });
    writeFileSync(join(root, 'run/systemd/shutdown/scheduled'), '');
    const agent = await start();
    await until(() => server.reboots.length > 0 && lines(log()).length === 1, 'the report of the reboot');
    agent.kill();
    rmSync(join(root, 'run/systemd/shutdown/scheduled'));
    boot('boot-1');
    await start();
    expect(await responseTo(request)).toMatchObject({ status_code: 0, reboots: 1 });
    expect(lines(log())).toEqual(['0', '1']);
  });

  it('answers a script that ordered a reboot in the background after the boot, and takes no other before', async () => {
    const down = join(root, 'run/systemd/shutdown/scheduled');
    const first = offer(`(sleep 0.5; : >'${down}') & echo first >>${log()}`, { reboot: 'allowed' });
    const second = offer(`echo second >>${log()}`);
    const agent = await start();
    await until(() => server.reboots.length > 0, 'the report of the reboot');
    agent.kill();
    expect(lines(log())).toEqual(['first']);
    rmSync(down);
    boot('boot-1');
    await start();
    expect(await responseTo(first)).toMatchObject({ status_code: 0, reboots: 1 });
    await responseTo(second);
    expect(lines(log())).toEqual(['first', 'second']);
    expect(lines(ordered())).toEqual([]);
  });

  it('B3: fails after three reboots, and names them', async () => {
    const request = offer(`echo x >>${log()}; sleep 60`, { reboot: 'allowed' });
    for (const turn of [1, 2, 3, 4]) {
      const agent = await start();
      await until(() => lines(log()).length === turn, `turn ${turn}`);
      agent.kill();
      boot(`boot-${turn}`);
    }
    await start();
    expect((await responseTo(request)).error).toMatch(/rebooted 3 times/);
    expect(lines(log())).toHaveLength(4);
  });
});

it('names the option when a reboot interrupts a config that may not have one', async () => {
  const request = offer(`echo x >>${log()}; sleep 60`, { on_interrupt: 'fail' });
  const agent = await start();
  await until(() => lines(log()).length === 1, 'the start');
  agent.kill();
  boot('boot-1');
  await start();
  expect((await responseTo(request)).error).toMatch(
    /its host has rebooted.*options\.reboot: docs\/tasks\/reboot-a-host\.md/,
  );
});

describe('a machine', () => {
  it('never reboots from another root without a program', async () => {
    await expect(hostMachine({ root }).reboot()).rejects.toThrow('no program to reboot this machine was given');
  });

  it('has another boot when process 1 has started again, as in a container', () => {
    expect(isSameBoot('id 5', 'id 5')).toBe(true);
    expect(isSameBoot('id 5', 'id 6')).toBe(false);
    expect(isSameBoot('id', 'id 6')).toBe(true);
    expect(isSameBoot('id 5', 'other 5')).toBe(false);
    mkdirSync(join(root, 'proc/1'));
    writeFileSync(join(root, 'proc/1/stat'), `1 (a (b) c) S ${Array.from({ length: 18 }, () => '0').join(' ')} 77 1 2`);
    expect(hostMachine({ root }).boot()).toBe('boot-0 77');
  });
});

it.each(['reboot', 'shutdown', 'systemctl'])('no test reboots the machine that runs it: %s refuses', (name) => {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
  expect(found).toBe(join(import.meta.dirname, '../no-reboot', name));
});
