import { randomUUID } from 'node:crypto';
import { deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { hostMessageRefused } from '@anneal/contracts/calls/host-messages.ts';
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Rig } from '../testing/running-service.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const secret = 'hunter2-4711';

/** A deployment whose host was given the secret. */
async function begin() {
  const host = await rig.host('web');
  const { resource } = await rig.request('create', {
    type: 'OS::Heat::OrderedConfig',
    properties: {
      hosted_on: host.id,
      script: 'true',
      input_values: { password: rig.context.secrets.seal(secret), pin: rig.context.secrets.seal('471100') },
    },
  });
  const { request } = await claimed(rig, host.id);
  return { host, resource, request };
}

async function refusedLetter(host: { id: string; token: string }, body: Json) {
  await expect(rig.answer(host, body)).rejects.toMatchObject({ code: 'InvalidRequest' });
  return eventually(async () => (await letters())[0], { what: 'a dead letter' });
}

const dataOf = (bytes: string) => {
  const { data } = JSON.parse(bytes) as { data: JsonObject };
  return hostMessageRefused.data.parse(data);
};

const letters = () => rig.context.bus.deadLetters.list({ limit: 10 });
const deep = `${'['.repeat(600)}${']'.repeat(600)}`;

describe('M3: an answer in no accepted form', () => {
  it('of a user is refused with every mistake and leaves nothing behind', async () => {
    const { host, resource, request } = await begin();
    for (const body of [{ id: request.id, status_code: 'no' }, 'done', { deploy_status_code: {} }]) {
      await expect(rig.post(host.id, body)).rejects.toMatchObject({ code: 'InvalidRequest' });
    }
    await expect(rig.post(host.id, { id: request.id, stdout: 'x'.repeat(600_000) })).rejects.toMatchObject({
      code: 'TooLarge',
    });
    expect(await rig.context.bus.queues.measure('anneal.configuration.responses')).toMatchObject({ depth: 0 });
    expect(await letters()).toEqual([]);
    // The run still waits, and takes the answer of its host.
    await rig.answer(host, { id: request.id, status_code: 0 });
    expect(await rig.final(resource.id)).toMatchObject({ status: 'complete' });
  });

  it.each<[string, (id: string) => Json, string]>([
    ['with its id', (id) => ({ id, status_code: 'no' }), 'body.status_code'],
    ['in the form of heat-agents without an id', () => ({ deploy_status_code: {} }), 'body.status_code'],
    ['whose id is elsewhere', (id) => ({ request: { id }, status_code: 0 }), 'body.id'],
    ['that is no object', (id) => [{ id, status_code: 0 }], 'must be a JSON object, not an array'],
    ['that is a text', (id) => `run ${id} is done`, 'must be a JSON object, not a string'],
    ['that is cut', (id) => `{"id":"${id}","status_code":0,"stdout":"it wa`, 'is not valid JSON'],
    ['that is nested too deep', (id) => `{"id":"${id}","outputs":{"x":${deep}}}`, 'nested deeper than 500'],
    ['with a forbidden key', (id) => `{"id":"${id}","outputs":{"__proto__":{}}}`, 'forbidden prototype property'],
    ['that is too long', (id) => ({ id, status_code: 0, stdout: 'x'.repeat(600_000) }), 'too large'],
  ])('of a host fails its run at once with the reason: %s', async (_what, bodyOf, reason) => {
    const { host, resource, request } = await begin();
    await expect(rig.answer(host, bodyOf(request.id))).rejects.toThrow(reason);
    const { status, error } = await rig.final(resource.id);
    expect([status, error?.message]).toEqual(['failed', expect.stringContaining(reason)]);
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view.answer_state).toBe('refused');
  });

  it('of a host fails the run that its address names, and no run that it only reports on', async () => {
    const { host, resource, request } = await begin();
    await expect(rig.answer(host, `{"id":"${request.id}","progress":"started`)).rejects.toThrow('not valid JSON');
    await expect(rig.answer(host, { id: request.id, progress: 'lost' })).rejects.toThrow('body.progress');
    await eventually(async () => (await letters()).length === 2 || undefined, { what: 'two dead letters' });
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view.status).toBe('IN_PROGRESS');
    const signal = rig.ask(queuePost, {
      project,
      queue: `host.${host.id}.responses`,
      client_id: host.id,
      run: request.id,
      messages: [{ body: 'done', ttl: 600 }],
    });
    await expect(signal).rejects.toThrow('must be a JSON object, not a string');
    expect(await rig.final(resource.id)).toMatchObject({ status: 'failed' });
  });
});

describe('M4: an answer in no accepted form', () => {
  it.each<[string, (id: string) => Json]>([
    ['as a text', () => `login with ${secret} failed`],
    ['in a field', (id) => ({ id, status_code: 'no', stdout: `it was ${secret}` })],
    ['in a list without the id of its run', () => ({ status_code: 0, outputs: [secret, { deep: [secret] }] })],
    ['as a number', (id) => ({ id, status_code: 'no', outputs: { pin: 471_100 } })],
    ['as a name', (id) => ({ id, status_code: 'no', outputs: { [secret]: 1 } })],
    ['as the name of a field', () => ({ hello: 7, [secret]: 1 })],
    ['in the form of heat-agents', () => ({ deploy_status_code: {}, deploy_stdout: secret, result: secret })],
  ])('is kept with the secret sealed: %s', async (_what, bodyOf) => {
    const { host, request } = await begin();
    const body = bodyOf(request.id);
    const letter = await refusedLetter(host, body);
    const stored = JSON.stringify(letter);
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain('471100');
    const kept = dataOf(letter.bytes).body;
    expect(rig.context.secrets.open(kept)).toEqual(body);
  });

  it('keeps what is no secret readable, and fails the deployment that it names without the secret', async () => {
    const { host, resource, request } = await begin();
    const letter = await refusedLetter(host, { id: request.id, status_code: 'no', stdout: secret, stderr: 'plain' });
    const kept = dataOf(letter.bytes).body;
    expect(rig.context.secrets.mask(kept)).toEqual({
      id: request.id,
      status_code: 'no',
      stdout: '******',
      stderr: 'plain',
    });
    expect(await rig.final(resource.id)).toMatchObject({ status: 'failed' });
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view.answer_state).toBe('refused');
    expect(JSON.stringify([view, rig.responses, rig.events])).not.toContain(secret);
  });

  it('changes nothing of what a host without a secret posts', async () => {
    const host = await rig.host('web');
    const body = { id: randomUUID(), status_code: 'no', stdout: secret };
    const letter = await refusedLetter(host, body);
    expect(dataOf(letter.bytes).body).toEqual(body);
  });
});
