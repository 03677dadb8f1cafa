import { randomUUID } from 'node:crypto';
import { deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { hostMessageRefused } from '@anneal/contracts/calls/host-messages.ts';
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

async function refusedLetter(hostId: string, body: Json) {
  await expect(rig.post(hostId, body)).rejects.toMatchObject({ code: 'InvalidRequest' });
  return eventually(async () => (await rig.context.bus.deadLetters.list({ limit: 10 }))[0], { what: 'a dead letter' });
}

const dataOf = (bytes: string) => {
  const { data } = JSON.parse(bytes) as { data: JsonObject };
  return hostMessageRefused.data.parse(data);
};

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
    const letter = await refusedLetter(host.id, body);
    const stored = JSON.stringify(letter);
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain('471100');
    const kept = dataOf(letter.bytes).body;
    expect(rig.context.secrets.open(kept)).toEqual(body);
  });

  it('keeps what is no secret readable, and fails the deployment that it names without the secret', async () => {
    const { host, resource, request } = await begin();
    const letter = await refusedLetter(host.id, { id: request.id, status_code: 'no', stdout: secret, stderr: 'plain' });
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
    const letter = await refusedLetter(host.id, body);
    expect(dataOf(letter.bytes).body).toEqual(body);
  });
});
