/**
 * Configs that reboot a host with only a shell. The machine is a folder: its "reboot" writes another boot id, and ends
 * the agent as a reboot does.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostRequest, HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { host, hostToken } from '@anneal/gateway/testing/stand-ins.ts';
import { startTestGateway, type TestGateway } from '@anneal/gateway/testing/test-gateway.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let gateway: TestGateway;
let directory: string;
let agent: ChildProcess | undefined;
beforeEach(async () => {
  gateway = await startTestGateway();
  directory = mkdtempSync(join(tmpdir(), 'anneal-reboot-'));
  for (const folder of ['machine/proc/sys/kernel/random', 'machine/run/systemd/shutdown', 'quick']) {
    mkdirSync(join(directory, folder), { recursive: true });
  }
  boot('boot-0');
  // A second of the scripts takes 100 ms.
  const sleeps =
    '#!/bin/sh\ncase $1 in *[!0-9]*) exec /bin/sleep "$1" ;; esac\nexec /bin/sleep "$(($1 / 10)).$(($1 % 10))"\n';
  writeFileSync(join(directory, 'quick/sleep'), sleeps, { mode: 0o755 });
});
afterEach(async () => {
  cutPower();
  await gateway.stop();
  rmSync(directory, { recursive: true, force: true });
});

const bootFile = (): string => join(directory, 'machine/proc/sys/kernel/random/boot_id');
const down = (): string => join(directory, 'machine/run/systemd/shutdown/scheduled');
const boot = (id: string): void => writeFileSync(bootFile(), `${id}\n`);
const file = (name: string): string => join(directory, name);
const lines = (name: string): string[] =>
  existsSync(file(name)) ? readFileSync(file(name), 'utf8').split('\n').filter(Boolean) : [];

/** A host that asks for a script and runs it until there is none, as its agent does. */
const loop = `
while :; do
  curl -sS -o "$DIR/next" -w '%{http_code}' -X POST -H "X-Auth-Token: $TOKEN" -H 'Accept: text/x-shellscript' \\
    "$URL/messaging/v1/queues/$NAME/claims" >"$DIR/code"
  [ "$(cat "$DIR/code")" = 201 ] || break
  sh "$DIR/next" </dev/null || sleep 1
done`;

const never = '';
/** Starts the host. Its program to reboot notes the order, and does `more`. */
function start(more = `echo "boot-$(wc -l <'${file('ordered')}')" >'${bootFile()}'`): void {
  writeFileSync(file('program'), `#!/bin/sh\necho ordered >>'${file('ordered')}'\n${more}\n`, { mode: 0o755 });
  agent = spawn('sh', ['-c', loop], {
    detached: true,
    stdio: 'ignore',
    env: {
      PATH: `${join(directory, 'quick')}:${process.env['PATH'] ?? ''}`,
      URL: gateway.url,
      TOKEN: hostToken,
      NAME: host.name,
      DIR: directory,
      ANNEAL_HOST_DIR: file('state'),
      ANNEAL_MACHINE_ROOT: file('machine'),
      ANNEAL_REBOOT_PROGRAM: file('program'),
    },
  });
}

/** Ends all processes of the host at once: its agent, and the runners in sessions of their own. */
function cutPower(): void {
  const { pid } = agent ?? {};
  agent = undefined;
  for (const each of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const text = readFileSync(`/proc/${each}/environ`, 'latin1') + readFileSync(`/proc/${each}/cmdline`, 'latin1');
      if (Number(each) !== process.pid && text.includes(directory)) process.kill(Number(each), 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
  // A host that asks again gets what it had claimed. Before the end of its processes one of them could claim it again.
  gateway.behind.release(host.requests_queue);
}

async function offer(id: string, config: string, options: Record<string, Json>, more: Partial<HostRequest> = {}) {
  const request: HostRequest = {
    id,
    deployment_id: `d-${id}`,
    name: id,
    group: 'script',
    config,
    action: 'CREATE',
    inputs: [],
    outputs: [],
    options,
    deadline: '2036-01-01T00:00:00.000Z',
    creation_time: '2026-01-01T00:00:00.000Z',
    ...more,
  };
  await gateway.behind.post(host.requests_queue, request as unknown as Json);
}
const posted = () => gateway.behind.messages(host.responses_queue).map(({ body }) => body as Record<string, Json>);
const reports = () => posted().flatMap(({ reboot }) => (reboot === undefined ? [] : [reboot]));
const answered = (): HostResponse[] =>
  posted().flatMap((body) => ('status_code' in body ? [body as unknown as HostResponse] : []));
const answerTo = (id: string): Promise<HostResponse> =>
  eventually(() => Promise.resolve(answered().find((each) => each.id === id)), { what: `the answer to ${id}` });
const orderedTimes = (count: number) =>
  eventually(() => Promise.resolve(lines('ordered').length === count), { what: `order ${count}` });

describe('reboot: after', () => {
  it('answers a success after the boot, with its outputs, and runs it once; no other config runs in between', async () => {
    await offer('a', `echo a >>${file('log')}; echo text; printf %s ok >"$heat_outputs_path.said"`, {
      reboot: 'after',
    });
    await offer('b', `echo b >>${file('log')}`, {});
    start(never);
    await orderedTimes(1);
    cutPower();
    expect(answered()).toEqual([]);
    expect(reports()).toEqual([{ number: 1 }]);
    boot('boot-1');
    start();
    expect(await answerTo('a')).toMatchObject({
      status_code: 0,
      outputs: { said: 'ok' },
      stdout: 'text\n',
      reboots: 1,
    });
    await answerTo('b');
    expect(answered().map(({ id }) => id)).toEqual(['a', 'b']);
    expect(lines('log')).toEqual(['a', 'b']);
    expect(lines('ordered')).toHaveLength(1);
  });

  it('orders the reboot again when the agent died before it, and takes no other config', async () => {
    await offer('a', `echo a >>${file('log')}`, { reboot: 'after' });
    await offer('b', `echo b >>${file('log')}`, {});
    for (const count of [1, 2]) {
      start(never);
      await orderedTimes(count);
      cutPower();
    }
    start();
    await answerTo('b');
    expect(lines('log')).toEqual(['a', 'b']);
    expect(answered()[0]).toMatchObject({ id: 'a', status_code: 0, reboots: 1 });
  });

  it('does not reboot after a failure, or with an output that is an error', async () => {
    await offer('a', 'exit 3', { reboot: 'after' });
    const outputs = [{ name: 'wrong', type: 'String', error_output: true }];
    await offer('b', 'echo no >"$heat_outputs_path.wrong"', { reboot: 'after' }, { outputs });
    start();
    expect(await answerTo('a')).toMatchObject({ status_code: 3 });
    expect(await answerTo('b')).toMatchObject({ status_code: 0, outputs: { wrong: 'no\n' } });
    expect(lines('ordered')).toEqual([]);
  });

  it('fails with the reason when the order is refused, the host does not go down, or has no boot id', async () => {
    await offer('a', 'printf %s ok >"$heat_outputs_path.said"', { reboot: 'after' });
    // The first order is refused, and no later one has an effect.
    start(`[ -e '${file('refused')}' ] || { : >'${file('refused')}'; echo not permitted >&2; exit 1; }`);
    expect(await answerTo('a')).toMatchObject({
      status_code: 125,
      outputs: { said: 'ok' },
      error: expect.stringMatching(/^cannot reboot the host: ".*" ended with 1: not permitted/) as string,
    });
    await offer('b', 'true', { reboot: 'after', reboot_timeout: 2 });
    expect((await answerTo('b')).error).toBe(
      'cannot reboot the host: it has not gone down within 2 s (options.reboot_timeout)',
    );
    rmSync(bootFile());
    await offer('c', 'true', { reboot: 'after' });
    expect((await answerTo('c')).error).toBe(
      'cannot reboot the host: nothing on this host tells one boot from another',
    );
  });
});

describe('reboot: on status 194', () => {
  const script =
    'echo "$ANNEAL_REBOOTS" >>mine; echo "turn $ANNEAL_REBOOTS"; [ "$ANNEAL_REBOOTS" = 2 ] || exit 194; printf %s "$(cat mine)" >"$heat_outputs_path.turns"';

  it('runs the script again after each reboot, with their number, and the working folder as it was', async () => {
    await offer('a', script, { reboot: 'on status 194' });
    start();
    expect(await answerTo('a')).toMatchObject({
      status_code: 0,
      reboots: 2,
      outputs: { turns: '0\n1\n2' },
      stdout: 'turn 2\n',
    });
    expect(reports()).toEqual([{ number: 1 }, { number: 1, over: true }, { number: 2 }, { number: 2, over: true }]);
  });

  it('continues over power cuts', async () => {
    await offer('a', script, { reboot: 'on status 194' });
    await offer('b', `echo b >>${file('log')}`, {});
    for (const count of [1, 2]) {
      start(never);
      await orderedTimes(count);
      cutPower();
      boot(`boot-${count}`);
    }
    start();
    expect(await answerTo('a')).toMatchObject({ status_code: 0, reboots: 2, outputs: { turns: '0\n1\n2' } });
    await answerTo('b');
  });

  it('fails after three reboots, and is a failure as any other without the option', async () => {
    await offer('a', `echo x >>${file('log')}; exit 194`, { reboot: 'on status 194' });
    await offer('b', 'exit 194', {});
    start();
    const answer = await answerTo('a');
    expect(answer).toMatchObject({ status_code: 125, reboots: 3 });
    expect(answer.error).toMatch(/its host has rebooted 3 times for it, which is the most/);
    expect(lines('log')).toHaveLength(4);
    expect(await answerTo('b')).toMatchObject({ status_code: 194 });
    expect(lines('ordered')).toHaveLength(3);
  });
});

describe('reboot: allowed', () => {
  it('runs a script again that the reboot of its host ended, with its number, three times at most', async () => {
    await offer('a', `echo "$ANNEAL_REBOOTS" >>${file('log')}; [ "$ANNEAL_REBOOTS" = 1 ] || sleep 600`, {
      reboot: 'allowed',
    });
    await offer('b', `echo x >>${file('more')}; sleep 600`, { reboot: 'allowed' });
    const cutAt = async (name: string, count: number): Promise<void> => {
      start();
      await eventually(() => Promise.resolve(lines(name).length === count), { what: `turn ${count} of ${name}` });
      cutPower();
      boot(`boot-${name}-${count}`);
    };
    await cutAt('log', 1);
    start();
    expect(await answerTo('a')).toMatchObject({ status_code: 0, reboots: 1 });
    cutPower();
    for (const count of [1, 2, 3, 4]) await cutAt('more', count);
    start();
    expect((await answerTo('b')).error).toMatch(/its host has rebooted 3 times for it/);
    expect(lines('log')).toEqual(['0', '1']);
    expect(lines('ordered')).toEqual([]);
  });

  it('answers a script that ordered a reboot in the background after the boot, and takes no other before', async () => {
    await offer('a', `(sleep 3; : >'${down()}') & echo a >>${file('log')}`, { reboot: 'allowed' });
    await offer('b', `echo b >>${file('log')}`, {});
    start();
    await eventually(() => Promise.resolve(reports().length > 0), { what: 'the report of the reboot' });
    cutPower();
    expect(lines('log')).toEqual(['a']);
    rmSync(down());
    boot('boot-1');
    start();
    expect(await answerTo('a')).toMatchObject({ status_code: 0, reboots: 1 });
    await answerTo('b');
    expect(lines('log')).toEqual(['a', 'b']);
  });
});

it('names the option when a config that may not reboot its host is interrupted', async () => {
  await offer('a', `echo x >>${file('log')}; sleep 600`, {});
  start();
  await eventually(() => Promise.resolve(lines('log').length === 1), { what: 'the start' });
  cutPower();
  start();
  expect((await answerTo('a')).error).toMatch(/options\.reboot: docs\/tasks\/reboot-a-host\.md/);
});
