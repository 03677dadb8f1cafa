import { randomUUID } from 'node:crypto';
import { deploymentShow } from '@anneal/contracts/configuration.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Rig } from './fixture.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const ordered = (hostId: string, more: Record<string, unknown> = {}) => ({
  type: 'OS::Heat::OrderedConfig',
  properties: { hosted_on: hostId, script: '#!/bin/sh\necho hi\n', actions: ['CREATE', 'UPDATE'], ...more } as never,
});

describe('a deployment', () => {
  it('goes through the queue of its host, and its outputs become attributes', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', { ...ordered(host.id), name: 'configA' });
    const { request, claim_id } = await claimed(rig, host.id);
    expect(request).toMatchObject({ group: 'script', action: 'CREATE', deployment_id: resource.id, name: 'configA' });
    expect(claim_id).toBeTruthy();
    await rig.post(host.id, { id: request.id, progress: 'started', at: new Date().toISOString() });
    await rig.post(host.id, { id: request.id, status_code: 0, stdout: 'hi\n', outputs: { port: '80' } });
    const answer = await rig.final(resource.id);
    expect(answer).toMatchObject({
      status: 'complete',
      physical_id: resource.id,
      attributes: { deploy_stdout: 'hi\n', deploy_status_code: 0, port: '80' },
    });
    for (const step of ['queued', 'started', 'completed']) await rig.event(`deployment.${step}`, resource.id);
    await rig.event('host.up', host.id);
    expect(await rig.claim(host.id)).toBeUndefined();
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view).toMatchObject({ status: 'COMPLETE', status_code: 0, host_name: 'web' });
  });

  it('that fails names host, config, exit status and the script’s standard error', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', { ...ordered(host.id), name: 'configA' });
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 1, stderr: 'no such disk\n' });
    const answer = await rig.final(resource.id);
    expect(answer.status).toBe('failed');
    expect(answer.error).toMatchObject({
      code: 'DeploymentFailed',
      message: 'Deployment to server failed: deploy_status_code : Deployment exited with non-zero status code: 1',
      details: { host: 'web', host_id: host.id, deployment: 'configA', status_code: 1, stderr: 'no such disk\n' },
    });
    const event = await rig.event('deployment.failed', resource.id);
    expect(event.data).toMatchObject({ failure: { code: 'DeploymentFailed' } });
  });

  it('P2: asked for twice is run once and answered twice', async () => {
    const host = await rig.host('web');
    const id = randomUUID();
    await rig.request('create', { ...ordered(host.id), id });
    await rig.request('create', { ...ordered(host.id), id });
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
    await rig.final(id);
    expect(await rig.claim(host.id)).toBeUndefined();
    const before = rig.responses.length;
    await rig.request('create', { ...ordered(host.id), id });
    await expect.poll(() => rig.responses.length).toBe(before + 1);
    expect(rig.responses.at(-1)).toMatchObject({ status: 'complete' });
    expect(await rig.claim(host.id)).toBeUndefined();
  });
});
