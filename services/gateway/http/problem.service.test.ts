import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

const limit = 2048;
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ ANNEAL_GATEWAY_BODY_LIMIT: String(limit) });
});
afterAll(() => gateway.stop());

describe('a body above the limit', () => {
  it.each([
    '/identity/v3/auth/tokens',
    `/orchestration/v1/${project}/stacks`,
    '/messaging/v2/queues/q/messages',
    '/v2/queues/q/messages',
    '/baremetal/v1/nodes',
    '/v1/stacks',
  ])('is refused at %s with its size, the limit and the setting', async (path) => {
    const body = { text: 'x'.repeat(3000) };
    const { status, text } = await gateway.call('POST', path, body, { 'client-id': crypto.randomUUID() });
    expect(status).toBe(413);
    const size = JSON.stringify(body).length;
    expect(text).toContain(
      `The request body has ${size} bytes; the limit is ${limit} bytes (ANNEAL_GATEWAY_BODY_LIMIT).`,
    );
  });

  it('is refused with the limit and the setting when the client declares no size', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('x'.repeat(3000)));
        controller.close();
      },
    });
    const response = await fetch(`${gateway.url}/identity/v3/auth/tokens`, { method: 'POST', body, duplex: 'half' });
    expect(response.status).toBe(413);
    expect(await response.text()).toContain(`more than ${limit} bytes; the limit is ${limit} bytes (ANNEAL_GATEWAY_`);
  });
});

describe('a software config', () => {
  it.each([`/orchestration/v1/${project}/software_configs`, '/api/v1/configs'])(
    'may exceed the limit of other requests at %s, up to its own',
    async (path) => {
      await gateway.restart({ ANNEAL_GATEWAY_CONFIG_LIMIT: '9000' });
      const configOf = (length: number) => ({ id: crypto.randomUUID(), name: 'large', config: 'x'.repeat(length) });
      const { id, ...unnamed } = configOf(8000);
      // The services behind this gateway know no configs, so only the size of the body decides.
      const taken = await gateway.call('POST', path, path.includes('software') ? unnamed : { id, ...unnamed });
      expect(taken.status).not.toBe(413);
      const refused = await gateway.call('POST', path, configOf(10_000));
      expect(refused.status).toBe(413);
      expect(refused.text).toContain('the limit is 9000 bytes (ANNEAL_GATEWAY_CONFIG_LIMIT).');
    },
  );
});

describe('a form above the limit', () => {
  /** With a declared size, or as a stream without one. */
  const send = (parts: readonly (string | File)[], isDeclared: boolean): Promise<Response> => {
    const form = new FormData();
    form.set('id', '1');
    form.set('status_code', '0');
    for (const [index, part] of parts.entries()) {
      if (typeof part === 'string') form.set(`outputs.${index}`, part);
      else form.set(`outputs.${index}`, part);
    }
    const { body, headers } = new Response(form);
    return fetch(`${gateway.url}/messaging/v2/queues/q/messages`, {
      method: 'POST',
      ...(isDeclared ? { body: form } : { body, duplex: 'half' as const }),
      headers: {
        'x-auth-token': gateway.token,
        'client-id': crypto.randomUUID(),
        ...(!isDeclared && { 'content-type': headers.get('content-type') ?? '' }),
      },
    });
  };

  it.each([
    ['a file', [new File(['x'.repeat(3000)], 'out')]],
    ['a field', ['x'.repeat(3000)]],
    ['many small fields', Array.from({ length: 30 }, () => 'x'.repeat(100))],
  ])('is refused with the limit and the setting: %s', async (_what, parts) => {
    for (const isDeclared of [true, false]) {
      const response = await send(parts, isDeclared);
      expect(response.status).toBe(413);
      expect(await response.text()).toContain(`the limit is ${limit} bytes (ANNEAL_GATEWAY_BODY_LIMIT).`);
    }
  });
});
