/**
 * For tests: a gateway that really listens, on the embedded bus and store. Behind it are the identity service and stand-ins
 * for the others.
 */
import { identityService } from '@anneal/identity/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { gatewayService } from '../service.ts';
import { standIn, type Behind } from './stand-ins.ts';

export const password = 'correct horse';
export const project = '00000000000000000000000000000001';

export interface TestGateway {
  readonly url: string;
  readonly context: TestContext;
  readonly behind: Behind;
  /** Calls as the admin, unless headers override that. Never follows a redirect. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
  readonly token: string;
  restart(environment?: Record<string, string>): Promise<void>;
  /** Stops the identity service behind the gateway for good. */
  loseIdentity(): Promise<void>;
  stop(): Promise<void>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests state the fields that they expect.
  readonly json: Record<string, never>;
}

export const login = (more: object = {}) => ({
  auth: {
    identity: {
      methods: ['password'],
      password: { user: { name: 'admin', domain: { name: 'Default' }, password } },
    },
    scope: { project: { name: 'admin', domain: { name: 'Default' } } },
    ...more,
  },
});

/** `log` receives the log of the gateway. */
export async function startTestGateway(
  environment: Record<string, string> = {},
  { log }: { log?: TestContext['log'] } = {},
): Promise<TestGateway> {
  const context = { ...(await createTestContext({ name: 'gateway' })), ...(log && { log }) };
  const behind = await standIn(context);
  let identity: RunningService;
  let running: RunningService & { url: string };
  const start = async (more: Record<string, string> = {}): Promise<void> => {
    const given = {
      ANNEAL_GATEWAY_PORT: '0',
      ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
      ...environment,
      ...more,
    };
    identity = await identityService.start(context, readSettings(identityService.settings, given));
    const settings = readSettings(gatewayService.settings, given);
    running = (await gatewayService.start(context, settings)) as typeof running;
  };
  const stop = async (): Promise<void> => {
    await running.stop();
    await identity.stop();
  };
  await start();
  const call: TestGateway['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(path.startsWith('http') ? path : `${running.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'x-auth-token': gateway.token,
        'x-openstack-ironic-api-version': 'latest',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return { status: response.status, headers: response.headers, text, json: isJson && text ? JSON.parse(text) : {} };
  };
  const gateway = {
    context,
    behind,
    call,
    token: '',
    get url() {
      return running.url;
    },
    async restart(more: Record<string, string> = {}) {
      await stop();
      await start(more);
    },
    async loseIdentity() {
      await identity.stop();
      identity = { stop: () => Promise.resolve() };
    },
    async stop() {
      await stop();
      await behind.stop();
      await context.dispose();
    },
  };
  const answer = await call('POST', '/identity/v3/auth/tokens', login(), { 'x-auth-token': '' });
  gateway.token = answer.headers.get('x-subject-token') ?? '';
  return gateway;
}
