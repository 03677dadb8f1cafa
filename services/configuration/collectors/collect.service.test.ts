import { randomUUID } from 'node:crypto';
import * as deploymentCalls from '@anneal/contracts/calls/deployments.ts';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { answerQueue } from '@anneal/contracts/queues.ts';
import type { CollectTransport } from '@anneal/contracts/transports.ts';
import { readSignalToken } from '@anneal/runtime/secrets/signal-grant.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRig, project, type Rig } from '../testing/running-service.ts';

let rig: Rig;
const environment = { ANNEAL_CONFIGURATION_POP_LEASE_SECONDS: '1' };
afterEach(() => rig.dispose());

const stack = { stack_id: '11111111-1111-4111-8111-111111111111', stack_name: 'stack' };
async function hostOf(
  transport: CollectTransport | null,
): Promise<{ id: string; token: string; settings: JsonObject }> {
  const id = randomUUID();
  const collector = { ...stack, transport, resource_name: 'server' };
  const { token, os_collect_config: settings = {} } = await rig.ask(hostCalls.hostCreate, {
    id,
    name: 'web',
    project,
    collector,
  });
  return { id, token, settings };
}
/** Puts a deployment into the queue of the host. */
async function offered(host: string, name: string, more: JsonObject = {}): Promise<string> {
  const type = 'OS::Heat::OrderedConfig';
  const properties = { hosted_on: host, script: `echo ${name}`, ...more };
  const { resource } = await rig.request('create', { type, name, properties });
  await rig.event('deployment.queued', resource.id);
  const where = { project, queue: `host.${host}.requests`, include_claimed: true, echo: true, client_id: '' };
  const isThere = async () =>
    (await rig.ask(queueCalls.queueMessages, where)).messages.some(({ body }) => (body as JsonObject)['name'] === name);
  await eventually(isThere, { what: `${name} in the queue` });
  return resource.id;
}
interface Listed extends JsonObject {
  id: string;
  name: string;
  config: string;
  inputs: { name: string; type: string; value: string }[];
}
const collect = async (host_id: string): Promise<Listed[]> =>
  (await rig.ask(hostCalls.hostCollect, { host_id })).metadata['deployments'] as Listed[];
const names = (listed: Listed[]): string[] => listed.map(({ name }) => name);
const inputOf = (listed: Listed | undefined, name: string): string | undefined =>
  listed?.inputs.find((input) => input.name === name)?.value;

describe('the metadata of a host', () => {
  beforeEach(async () => {
    rig = await createRig();
  });

  it('K1: shows the next deployment when the one before it has its answer', async () => {
    const { id } = await hostOf('POLL_SERVER_HEAT');
    const a = await offered(id, 'a');
    await offered(id, 'b');
    const [first] = await collect(id);
    expect(first).toMatchObject({ name: 'a', group: 'script', config: 'echo a' });
    expect(names(await collect(id))).toEqual(['a']);
    await rig.post(id, { id: first?.id ?? '', deploy_stdout: 'out', deploy_status_code: 0 });
    await rig.final(a);
    expect(names(await collect(id))).toEqual(['a', 'b']);
  });

  it('K2: sets the request aside, so that no other client of the host gets it meanwhile', async () => {
    const { id } = await hostOf('POLL_SERVER_CFN');
    await offered(id, 'a');
    await collect(id);
    expect(await rig.claim(id)).toBeUndefined();
  });

  it('does not show a request that another agent of the host has claimed', async () => {
    const { id } = await hostOf('POLL_SERVER_CFN');
    await offered(id, 'a');
    expect(await rig.claim(id)).toBeDefined();
    expect(await collect(id)).toEqual([]);
  });

  it('K4: is the same for each read, also of several at once', async () => {
    const { id } = await hostOf('POLL_TEMP_URL');
    await offered(id, 'a', { input_values: { n: 5, t: true } });
    const ask = () => rig.ask(hostCalls.hostCollect, { host_id: id });
    const [one, ...others] = await Promise.all([ask(), ask(), ask()]);
    const [a] = (one?.metadata['deployments'] ?? []) as Listed[];
    expect(a?.inputs.slice(0, 2).map(({ value }) => value)).toEqual(['5', 'true']);
    for (const other of [...others, await ask()]) expect(other).toEqual(one);
  });

  it('K3: ends a run without a signal at the next read, and keeps it in the list', async () => {
    const { id } = await hostOf('POLL_SERVER_HEAT');
    const config = randomUUID();
    await rig.request('create', {
      type: 'OS::Heat::SoftwareConfig',
      id: config,
      name: 'c',
      properties: { group: 'script', config: 'true' },
    });
    await rig.final(config);
    const { resource } = await rig.request('create', {
      type: 'OS::Heat::SoftwareDeployment',
      name: 'a',
      properties: { config, server: id, signal_transport: 'NO_SIGNAL' },
    });
    await rig.event('deployment.queued', resource.id);
    await offered(id, 'b');
    const [a] = await collect(id);
    expect(
      a?.inputs.map(({ name }) => name).filter((name) => name.startsWith('deploy_') && /url|id$|password/.test(name)),
    ).toEqual(['deploy_server_id', 'deploy_stack_id']);
    expect(names(await collect(id))).toEqual(['a', 'b']);
    const shown = await rig.ask(deploymentCalls.deploymentShow, { project, deployment: resource.id });
    expect(shown).toMatchObject({ status: 'COMPLETE', reason: 'Not waiting for outputs signal' });
  });

  it('leaves out a run that ended without an answer, so that the host does not run it later', async () => {
    const { id } = await hostOf('POLL_SERVER_HEAT');
    const a = await offered(id, 'a', { options: { timeout: 0.2 } });
    await collect(id);
    expect(await rig.final(a)).toMatchObject({ status: 'failed' });
    await eventually(async () => (await collect(id)).length === 0, { what: 'an empty list' });
  });

  it('is refused to a host that names another server than its own', async () => {
    const { id } = await hostOf('POLL_SERVER_CFN');
    const ask = (as: { stack: string; resource: string }) => rig.ask(hostCalls.hostCollect, { host_id: id, as });
    for (const own of [stack.stack_id, stack.stack_name, `stack/${stack.stack_id}`]) {
      expect(await ask({ stack: own, resource: 'server' })).toMatchObject({ project });
    }
    await expect(ask({ stack: 'other', resource: 'server' })).rejects.toMatchObject({ code: 'Forbidden' });
    await expect(ask({ stack: 'stack', resource: 'other' })).rejects.toMatchObject({ code: 'Forbidden' });
    const { id: joined } = await rig.host('alone');
    await expect(
      rig.ask(hostCalls.hostCollect, { host_id: joined, as: { stack: '', resource: '' } }),
    ).rejects.toMatchObject({
      code: 'Forbidden',
    });
  });
});

describe('the settings of os-collect-config', () => {
  beforeEach(async () => {
    rig = await createRig();
  });

  it.each([
    ['POLL_SERVER_CFN', 'cfn', ['secret_access_key']],
    ['POLL_SERVER_HEAT', 'heat', ['password']],
    ['POLL_TEMP_URL', 'request', ['metadata_url']],
    ['ZAQAR_MESSAGE', 'zaqar', ['password']],
    [null, 'zaqar', ['password']],
  ] as const)(
    '%s: follow the template, seal every secret in the attribute, and are open in the metadata',
    async (transport, kind, hidden) => {
      const { id, token, settings } = await hostOf(transport);
      const { secrets } = rig.context;
      expect(settings['collectors']).toEqual([kind, 'local']);
      const section = settings[kind] as JsonObject;
      const sealed = Object.entries(section).flatMap(([name, value]) => (secrets.isSealed(value) ? [name] : []));
      expect(sealed).toEqual(hidden);
      expect(JSON.stringify(settings)).not.toContain(token);
      const { metadata } = await rig.ask(hostCalls.hostCollect, { host_id: id });
      expect(metadata['os-collect-config']).toEqual(secrets.open(settings));
    },
  );

  it("change with the transport of the server, and lose the host's stack when it returns", async () => {
    const { id } = await hostOf('POLL_SERVER_CFN');
    const question = {
      id,
      name: 'web',
      project,
      collector: { ...stack, transport: 'POLL_TEMP_URL' as const, resource_name: 'server' },
    };
    const changed = await rig.ask(hostCalls.hostCreate, question);
    expect(changed.os_collect_config?.['collectors']).toEqual(['request', 'local']);
    const { metadata } = await rig.ask(hostCalls.hostCollect, { host_id: id });
    expect(metadata['os-collect-config']).toEqual(rig.context.secrets.open(changed.os_collect_config ?? {}));
  });

  it('change with the token, so that a renewal revokes the keys that derive from it', async () => {
    const { id } = await hostOf('POLL_TEMP_URL');
    const before = (await rig.ask(hostCalls.hostCollect, { host_id: id })).metadata['os-collect-config'];
    await rig.ask(hostCalls.hostTokenRenew, { project, host: id });
    expect((await rig.ask(hostCalls.hostCollect, { host_id: id })).metadata['os-collect-config']).not.toEqual(before);
  });
});

describe('the signal inputs', () => {
  beforeEach(async () => {
    rig = await createRig();
  });

  it.each([
    ['POLL_SERVER_CFN', 'CFN_SIGNAL'],
    ['POLL_SERVER_HEAT', 'HEAT_SIGNAL'],
    ['POLL_TEMP_URL', 'TEMP_URL_SIGNAL'],
    ['ZAQAR_MESSAGE', 'ZAQAR_SIGNAL'],
  ] as const)('follow the server when the deployment names no transport: %s, %s', async (transport, signal) => {
    const { id } = await hostOf(transport);
    await offered(id, 'a');
    expect(inputOf((await collect(id))[0], 'deploy_signal_transport')).toBe(signal);
  });

  it('hold credentials for the run, not the token of the host', async () => {
    const { id, token } = await hostOf('ZAQAR_MESSAGE');
    const resource = await offered(id, 'a');
    const listed = await collect(id);
    expect(JSON.stringify(listed)).not.toContain(token);
    const [a] = listed;
    expect(inputOf(a, 'deploy_queue_id')).toBe(answerQueue(a?.id ?? ''));
    expect(inputOf(a, 'deploy_user_id')).toBe(resource);
    expect(readSignalToken(rig.context.secrets, inputOf(a, 'deploy_password') ?? '')).toMatchObject({
      resource_id: resource,
      run: { id: a?.id, host_id: id },
    });
  });

  it('are not shown with the deployment', async () => {
    const { id } = await hostOf('POLL_SERVER_CFN');
    const deployment = await offered(id, 'a');
    await collect(id);
    const { input_values } = await rig.ask(deploymentCalls.deploymentShow, { project, deployment });
    expect(Object.keys(input_values)).toContain('deploy_signal_transport');
    expect(Object.keys(input_values)).not.toContain('deploy_signal_id');
  });
});

describe('K2: a request without an answer', () => {
  beforeEach(async () => {
    rig = await createRig({ environment });
  });

  it.each(['poll', 'pop'])('is offered again after the lease, behind the recovery of its answer (%s)', async (how) => {
    const { id } = await hostOf(how === 'pop' ? 'ZAQAR_MESSAGE' : 'POLL_SERVER_CFN');
    const resource = await offered(id, 'a');
    const queue = `host.${id}.requests`;
    const read = async (): Promise<Listed[]> => {
      if (how === 'poll') return collect(id);
      const { messages } = await rig.ask(queueCalls.queueMessageDelete, { project, queue, pop: 1, host_id: id });
      return ((messages[0]?.body as JsonObject | undefined)?.['deployments'] ?? []) as Listed[];
    };
    const [first] = await read();
    const again = await eventually(
      async () => {
        const listed = await read();
        return listed.length === 2 ? listed : undefined;
      },
      { what: 'the recovery' },
    );
    expect(again[0]).toMatchObject({ name: 'a-recovery-1', group: 'script', inputs: [] });
    expect(again[0]?.config).toContain(first?.id);
    expect(again[1]).toEqual(first);
    await rig.post(id, { id: first?.id ?? '', deploy_stdout: '', deploy_status_code: 0 });
    await rig.final(resource);
    if (how === 'poll') expect(names(await read())).toEqual(['a']);
  });
});
