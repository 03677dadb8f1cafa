/** The streams and outputs that a host sends while a config runs, on the real embedded bus and store. */
import { randomUUID } from 'node:crypto';
import {
  deploymentCreate,
  deploymentDelete,
  deploymentShow,
  type DeploymentView,
} from '@anneal/contracts/calls/deployments.ts';
import { configCreate } from '@anneal/contracts/calls/configs.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { outputRead, runReport, type OutputRead } from '@anneal/contracts/output.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Rig } from '../testing/running-service.ts';

const limit = 65_536;
let rig: Rig;
beforeAll(async () => {
  rig = await createRig({ environment: { ANNEAL_CONFIGURATION_OUTPUT_BYTES: String(limit) } });
});
afterAll(() => rig.dispose());

async function running(options: { values?: JsonObject } = {}) {
  const host = await rig.host(`host-${randomUUID().slice(0, 8)}`);
  const { resource } = await rig.request('create', {
    type: 'OS::Heat::OrderedConfig',
    properties: { hosted_on: host.id, script: 'echo', input_values: options.values ?? {} },
  });
  const { request } = await claimed(rig, host.id);
  return { host: host.id, run: request.id, deployment: resource.id };
}

const report = (of: { host: string; run: string }, name: string, offset: number, data: string | Buffer) =>
  rig.ask(runReport, {
    host_id: of.host,
    id: of.run,
    pieces: [{ name, offset, data: Buffer.from(data).toString('base64') }],
  });
const ask = (deployment: string, name: string, offset = 0): Promise<OutputRead> =>
  rig.ask(outputRead, { project, deployment, from: [{ name, offset }] });
const textOf = async (deployment: string, name = 'stdout'): Promise<string> => {
  const { parts } = await ask(deployment, name);
  return Buffer.from(parts[0]?.data ?? '', 'base64').toString();
};
const answer = (of: { host: string; run: string }, more: JsonObject = {}): Promise<void> =>
  rig.post(of.host, { id: of.run, status_code: 0, ...more });
const show = (deployment: string): Promise<DeploymentView> => rig.ask(deploymentShow, { project, deployment });

describe('the output of a running config', () => {
  it('O1: is readable while it runs, and a repeated or overlapping piece is stored once', async () => {
    const of = await running();
    expect((await report(of, 'stdout', 0, 'one\n')).stored).toEqual([{ name: 'stdout', bytes: 4, full: false }]);
    await report(of, 'stdout', 0, 'one\n');
    await report(of, 'stdout', 2, 'e\ntwo\n');
    expect(await textOf(of.deployment)).toBe('one\ntwo\n');
    // A gap is refused: the answer names where the next piece begins.
    expect((await report(of, 'stdout', 100, 'late')).stored).toEqual([{ name: 'stdout', bytes: 8, full: false }]);
    expect(await textOf(of.deployment)).toBe('one\ntwo\n');
    expect((await show(of.deployment)).streams).toEqual([{ name: 'stdout', bytes: 8, full: false }]);
  });

  it('O1: has each byte once when two replicas store pieces at the same time', async () => {
    const of = await running();
    const whole = Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join('');
    for (let at = 0; at < whole.length;) {
      const [a, b] = await Promise.all([
        report(of, 'stdout', at, whole.slice(at, at + 40)),
        report(of, 'stdout', at, whole.slice(at, at + 70)),
      ]);
      at = Math.max(a.stored[0]?.bytes ?? 0, b.stored[0]?.bytes ?? 0);
    }
    expect(await textOf(of.deployment)).toBe(whole);
  });

  it('O3: ends at the limit, which the host learns', async () => {
    const of = await running();
    expect((await report(of, 'stdout', 0, Buffer.alloc(limit - 6, 120))).stored[0]?.full).toBe(false);
    const { stored } = await report(of, 'stdout', limit - 6, '0123456789');
    expect(stored).toEqual([{ name: 'stdout', bytes: limit, full: true }]);
    expect((await textOf(of.deployment)).endsWith('x012345')).toBe(true);
    // The limit of the outputs is one for all.
    await report(of, 'outputs.a', 0, Buffer.alloc(limit - 3));
    expect((await report(of, 'outputs.b', 0, 'abcdef')).stored[0]).toEqual({ name: 'outputs.b', bytes: 3, full: true });
  });

  it('is refused from another host, and after the run has ended', async () => {
    const of = await running();
    const { id: stranger } = await rig.host('stranger');
    const foreign = await report({ ...of, host: stranger }, 'stdout', 0, 'forged');
    expect(foreign).toEqual({ stop: false, stored: [{ name: 'stdout', bytes: 0, full: true }] });
    await answer(of, { stdout: 'in the answer\n' });
    await rig.final(of.deployment);
    await report(of, 'stdout', 0, 'late');
    expect(await textOf(of.deployment)).toBe('in the answer\n');
  });

  it('is an event with the latest lines, at most once in ten seconds', async () => {
    const of = await running();
    await report(of, 'stdout', 0, 'one\ntwo\nthr');
    await report(of, 'stdout', 11, 'ee\n');
    const event = await rig.event('deployment.output', of.deployment);
    expect((event.data as { streams: unknown }).streams).toEqual([
      { name: 'stdout', bytes: 11, tail: 'one\ntwo\n' },
      { name: 'stderr', bytes: 0, tail: '' },
    ]);
    await answer(of);
    await rig.event('deployment.completed', of.deployment);
    expect(
      rig.events.filter(({ type, subject }) => type === 'deployment.output' && subject === of.deployment),
    ).toHaveLength(1);
  });

  it('O4: is sealed in the store and masked for readers when the run was given a hidden value', async () => {
    const hidden = 'correct-horse-battery';
    const { secrets, store } = rig.context;
    const of = await running({ values: { password: secrets.seal(hidden) } });
    await report(of, 'stdout', 0, `using correct-ho`);
    expect(await textOf(of.deployment)).toBe('');
    await report(of, 'stdout', 16, 'rse-battery\nnext');
    expect(await textOf(of.deployment)).toBe('using ******\n');
    const { data } = await rig.event('deployment.output', of.deployment);
    expect(JSON.stringify(data)).not.toContain('correct');
    const pieces = await store.collection({
      name: 'configuration_output_pieces',
      indexes: [{ fields: ['run', 'name', 'offset'] }],
    });
    const stored = JSON.stringify(await pieces.find({ where: { run: of.run } }));
    expect(stored).not.toContain(Buffer.from('using').toString('base64').slice(0, 6));
    expect(stored).toContain('$sealed');
    // A reader cannot begin within a value.
    const within = await ask(of.deployment, 'stdout', 10);
    expect(Buffer.from(within.parts[0]?.data ?? '', 'base64').toString()).toBe('');
    await answer(of);
    await rig.final(of.deployment);
    expect(await textOf(of.deployment)).toBe('using ******\nnext');
  });

  it('becomes the address of an output that the answer names, with its bytes unchanged', async () => {
    const of = await running();
    const bytes = Buffer.from([0xff, 0xfe, 0, 1, 10, 0x80]);
    await report(of, 'outputs.archive', 0, bytes);
    await answer(of, { stored: ['archive'], outputs: { plain: 'text' } });
    await rig.final(of.deployment);
    const { output_values } = await show(of.deployment);
    expect(output_values).toEqual({
      plain: 'text',
      archive: expect.stringMatching(new RegExp(`/api/v1/deployments/${of.deployment}/output/outputs\\.archive$`)),
    });
    const { parts } = await ask(of.deployment, 'outputs.archive');
    expect(Buffer.from(parts[0]?.data ?? '', 'base64')).toEqual(bytes);
  });
});

describe('a run that is withdrawn', () => {
  it('is stopped when a newer run replaces it, and its answer lets the newer one begin', async () => {
    const of = await running();
    expect((await report(of, 'stdout', 0, '')).stop).toBe(false);
    await rig.request('update', {
      type: 'OS::Heat::OrderedConfig',
      id: of.deployment,
      fence: 2,
      properties: { hosted_on: of.host, script: 'echo again' },
    });
    await eventually(async () => ((await report(of, 'stdout', 0, '')).stop ? true : undefined), { what: 'the stop' });
    expect(await rig.claim(of.host)).toBeUndefined();
    await answer(of, {
      status_code: 143,
      error: 'stopped: the server withdrew it, because a newer request replaced it or its deployment has ended',
    });
    const next = await claimed(rig, of.host);
    expect(next.request.config).toBe('echo again');
    expect(rig.events.filter(({ type, subject }) => type === 'host.answer.unexpected' && subject === of.host)).toEqual(
      [],
    );
  });

  it('is stopped when its deployment is deleted', async () => {
    const host = await rig.host('deleted');
    const config = randomUUID();
    const deployment = randomUUID();
    await rig.ask(configCreate, {
      id: config,
      project,
      name: 'c',
      group: 'script',
      config: 'sleep',
      inputs: [],
      outputs: [],
      options: {},
    });
    await rig.ask(deploymentCreate, {
      id: deployment,
      project,
      host: host.id,
      config,
      input_values: {},
      action: 'CREATE',
    });
    const { request } = await claimed(rig, host.id);
    await rig.ask(deploymentDelete, { project, deployment });
    expect((await report({ host: host.id, run: request.id }, 'stdout', 0, '')).stop).toBe(true);
  });
});
