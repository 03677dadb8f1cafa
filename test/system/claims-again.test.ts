/** A host that claims again, because the process that claimed before was killed or replaced by another agent. */
import { randomUUID } from 'node:crypto';
import { createRig, project, type Rig } from '@anneal/configuration/testing/running-service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let rig: Rig;
let url: string;
const closers: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  rig = await createRig();
  closers.push(() => rig.dispose());
  const context = await createTestContext({ name: 'gateway', bus: rig.context.bus, store: rig.context.store });
  closers.push(() => context.dispose());
  const settings = readSettings(gatewayService.settings, { ANNEAL_GATEWAY_PORT: '0' });
  const gateway = (await gatewayService.start(context, settings)) as RunningService & { url: string };
  closers.push(() => gateway.stop());
  url = gateway.url;
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

interface Program {
  readonly host: string;
  readonly token: string;
  readonly client: string;
}

/** The call of the sh agent. Resolves to its script, which is empty without a request. */
async function next({ token, client }: Program): Promise<string> {
  const body = new FormData();
  body.append('token', token);
  body.append('client', client);
  return (await fetch(`${url}/agent/v1/next?wait=45`, { method: 'POST', body })).text();
}

/** The call of the full agent. */
const claim = ({ host, token, client }: Program): Promise<Response> =>
  fetch(`${url}/messaging/v2/queues/host.${host}.requests/claims`, {
    method: 'POST',
    headers: {
      'x-auth-token': token,
      'x-project-id': project,
      'client-id': client,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ ttl: 60, grace: 60 }),
  });

async function joined(name: string): Promise<Program> {
  const { id, token } = await rig.host(name);
  return { host: id, token, client: randomUUID() };
}
const offer = (host: string): Promise<unknown> =>
  rig.request('create', { type: 'OS::Heat::OrderedConfig', properties: { hosted_on: host, script: 'true' } });

describe('a host that claims again', () => {
  it('gets the claimed request at once, also by another kind of agent', async () => {
    const program = await joined('changed');
    await offer(program.host);
    const script = await next(program);
    expect(script).toContain('anneal_request');
    expect((await claim({ ...program, client: randomUUID() })).status).toBe(204);
    const again = await claim(program);
    expect(again.status).toBe(201);
    const { messages } = (await again.json()) as { messages: { body: { id: string } }[] };
    expect(script).toContain(messages[0]?.body.id);
    expect(await next(program)).toContain(messages[0]?.body.id);
  });
});
