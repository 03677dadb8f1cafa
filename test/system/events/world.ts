/** Gateway, notification and configuration on the embedded bus and store, with the client of the project. */
import { connect, type Client } from '@anneal/client/connect.ts';
import { configurationService } from '@anneal/configuration/service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../../backends/free-port.ts';
import { logInOverHttp } from '../../e2e/log-in.ts';

const password = 'correct horse';

export interface EventWorld {
  readonly url: string;
  readonly context: TestContext;
  readonly client: Client;
  /** A token of Keystone. */
  readonly token: string;
  /** The environment of `openstack`. */
  readonly openstack: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts the services. `settings` may concern any of them. */
export async function openEventWorld(settings: Record<string, string> = {}): Promise<EventWorld> {
  const port = await freeLocalPort();
  const url = `http://127.0.0.1:${port}`;
  const context = await createTestContext({ name: 'gateway', gatewayUrl: url });
  const given: Record<string, string> = {
    ANNEAL_GATEWAY_PORT: String(port),
    ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
    ...settings,
  };
  const identity = await startIdentity(context, password);
  const services = await Promise.all(
    [configurationService, notificationService, gatewayService].map((service) => {
      const own = Object.entries(given).filter(([name]) => name.startsWith(`ANNEAL_${service.name.toUpperCase()}_`));
      return service.start(context, readSettings(service.settings, Object.fromEntries(own)) as never);
    }),
  );
  const client = await connect({ authUrl: `${url}/identity/v3`, username: 'admin', password, project: 'admin' });
  return {
    url,
    context,
    client,
    token: (await logInOverHttp({ url, password })).token,
    openstack: {
      OS_AUTH_URL: `${url}/identity/v3`,
      OS_USERNAME: 'admin',
      OS_PASSWORD: password,
      OS_PROJECT_NAME: 'admin',
      OS_USER_DOMAIN_NAME: 'Default',
      OS_PROJECT_DOMAIN_NAME: 'Default',
      OS_IDENTITY_API_VERSION: '3',
    },
    async stop() {
      for (const service of [identity, ...services].toReversed()) await service.stop();
      await context.dispose();
    },
  };
}
