/** For the tests of hosts on a broker: a configuration service with a real broker for hosts, and hosts that know only its library. */
import { createRig, type Rig } from '@anneal/configuration/testing/running-service.ts';
import { hostBrokerGrant, type HostBrokerAccess } from '@anneal/contracts/calls/hosts.ts';
import {
  hostFarewellSchema,
  hostRequestSchema,
  type HostFarewell,
  type HostRequest,
} from '@anneal/contracts/calls/host-messages.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectNats, nkeys, type NatsConnection } from '@nats-io/transport-node';
import { connect as connectAmqp } from 'amqplib';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq, type RabbitmqServer } from '../../backends/rabbitmq.ts';
import type { BackendServer, MissingBackend } from '../../backends/backend.ts';
import type { Certificates } from '../../backends/certificates.ts';
import { reportSkipped } from '../../backends/missing.ts';

/** The virtual host for hosts on RabbitMQ. */
export const hostsVhost = 'hosts';
/** The password of each user that the configuration of NATS has. */
export const natsPassword = 'correct-horse';

/** A broker with the settings that let hosts use it. */
export interface HostBroker {
  readonly server: BackendServer;
  readonly environment: Record<string, string>;
}

/** A host as a program that knows only the library of the broker. */
export interface StrangeHost {
  /** Every request so far, in the order of arrival, repeats too. */
  readonly received: HostRequest[];
  /** The last message of a deleted host. */
  readonly farewells: HostFarewell[];
  /** Sends a message to Anneal. Resolves when the broker has it, with the reply where the broker has replies. */
  send(body: Json): Promise<JsonObject>;
  /** Resolves when the connection ends. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** One broker with its library. */
export interface BrokerKind {
  readonly name: string;
  /** @param tls the certificates of a broker that is used over TLS */
  find(tls?: Certificates): Promise<HostBroker | MissingBackend>;
  /** @param ca the certificate of the authority that the host trusts, in PEM */
  connect(access: HostBrokerAccess, ca?: string): Promise<StrangeHost>;
}

/** Reads a message to a host. @throws for one in no documented form */
function note({ received, farewells }: Pick<StrangeHost, 'received' | 'farewells'>, body: unknown): void {
  const last = hostFarewellSchema.safeParse(body);
  if (last.success) farewells.push(last.data);
  else received.push(hostRequestSchema.parse(body));
}

/**
 * A program that runs every request once: it keeps a journal, says hello until it has its first request, and repeats an
 * answer that the broker did not take.
 */
export class DiligentHost {
  /** The names of the configs in the order in which they ran. */
  readonly ran: string[] = [];
  readonly #journal = new Map<string, JsonObject>();
  readonly #kind: BrokerKind;
  readonly #access: HostBrokerAccess;
  readonly #stopping = new AbortController();
  readonly #work: Promise<void>;

  constructor(kind: BrokerKind, access: HostBrokerAccess) {
    this.#kind = kind;
    this.#access = access;
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#work;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const host = await this.#kind.connect(this.#access).catch(() => undefined);
      await (host ? this.#serve(host) : pause(100, signal));
      await host?.close().catch(() => undefined);
    }
  }

  /** Until the connection ends or a message is not taken. */
  async #serve(host: StrangeHost): Promise<void> {
    const { signal } = this.#stopping;
    const ended = host.ended.then(() => 'ended' as const);
    try {
      for (let next = 0, idle = 0; !signal.aborted; idle += 1) {
        // As the protocol asks, but every second: a request is lost when its replica stops before it sends it.
        if (idle % 50 === 0) await host.send({ hello: true });
        const request = host.received[next];
        if (request) {
          next += 1;
          idle = 0;
          await host.send(this.#answer(request));
        } else if ((await Promise.race([pause(20, signal), ended])) === 'ended') return;
      }
    } catch {
      // It connects again and says hello.
    }
  }

  #answer({ id, name }: HostRequest): JsonObject {
    const known = this.#journal.get(id);
    if (known) return known;
    this.ran.push(name);
    const answer = { id, status_code: 0, stdout: name };
    this.#journal.set(id, answer);
    return answer;
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(ms, undefined, { signal }).catch(() => undefined);

export const rabbitKind: BrokerKind = {
  name: 'RabbitMQ',
  async find(tls) {
    const server = await findRabbitmq({ management: true, ...(tls && { tls }) });
    if ('missing' in server) return server;
    await makeVhost(server);
    const url = tls
      ? `amqps://guest:guest@${server.secureHost ?? ''}/${hostsVhost}?ca=${tls.ca}`
      : `${server.url}/${hostsVhost}`;
    return {
      server,
      environment: {
        ANNEAL_CONFIGURATION_HOST_BROKER_URL: url,
        ANNEAL_CONFIGURATION_HOST_BROKER_ADMIN_URL: server.adminUrl ?? '',
      },
    };
  },
  async connect(access, ca) {
    const connection = await connectAmqp(withUser(access), ca === undefined ? {} : { ca: [Buffer.from(ca)] });
    const ended = new Promise<void>((resolve) => void connection.once('close', () => resolve()));
    connection.on('error', () => undefined);
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    const received: HostRequest[] = [];
    const farewells: HostFarewell[] = [];
    await channel.consume(access.requests, (message) => {
      if (!message) return;
      note({ received, farewells }, JSON.parse(message.content.toString()));
      channel.ack(message);
    });
    return {
      received,
      farewells,
      ended,
      async send(body) {
        channel.publish(access.responses, '', Buffer.from(JSON.stringify(body)), { persistent: true });
        await channel.waitForConfirms();
        return {};
      },
      async close() {
        try {
          await connection.close();
        } catch {
          // The broker has closed it before, because the credentials have ended.
          await ended;
        }
      },
    };
  },
};

/** The virtual host, and the rights of the administrator in it. */
async function makeVhost({ adminUrl = '' }: RabbitmqServer): Promise<void> {
  const { origin, username, password } = new URL(adminUrl);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const put = (path: string, body: JsonObject): Promise<true | undefined> =>
    fetch(`${origin}/api/${path}`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    }).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );
  const calls: Readonly<Record<string, JsonObject>> = {
    [`vhosts/${hostsVhost}`]: {},
    [`permissions/${hostsVhost}/${username}`]: { configure: '.*', write: '.*', read: '.*' },
  };
  for (const [path, body] of Object.entries(calls)) {
    await eventually(() => put(path, body), { what: `PUT ${path} at RabbitMQ` });
  }
}

export const natsKind: BrokerKind = {
  name: 'NATS',
  async find(tls) {
    const key = nkeys.createAccount();
    const secure = tls ? `tls { cert_file: "${tls.server.cert}", key_file: "${tls.server.key}" }\n` : '';
    const server = await findNats({ config: `${secure}${natsConfig(key.getPublicKey())}` });
    if ('missing' in server) return server;
    const as = (user: string): string =>
      `${tls ? 'tls' : 'nats'}://${user}:${natsPassword}@${new URL(server.url).host}${tls ? `?ca=${tls.ca}` : ''}`;
    return {
      server,
      environment: {
        ANNEAL_CONFIGURATION_HOST_BROKER_URL: as('anneal'),
        ANNEAL_CONFIGURATION_HOST_BROKER_ADMIN_URL: as('system'),
        ANNEAL_CONFIGURATION_HOST_BROKER_KEY: new TextDecoder().decode(key.getSeed()),
      },
    };
  },
  async connect(access, ca) {
    const connection = await connectNatsAs(access, ca);
    const received: HostRequest[] = [];
    const farewells: HostFarewell[] = [];
    connection.subscribe(access.requests, {
      callback: (_, message) => note({ received, farewells }, message.json()),
    });
    await connection.flush();
    return {
      received,
      farewells,
      ended: connection.closed().then(() => undefined),
      send: async (body) => (await connection.request(access.responses, JSON.stringify(body))).json(),
      close: () => connection.close(),
    };
  },
};

/**
 * The broker, or undefined with the reason on standard error; in CI it must be there.
 * @param missing why the tests cannot run with any broker
 */
export async function findHostBroker(
  kind: BrokerKind,
  { missing, tls }: { missing?: string; tls?: Certificates } = {},
): Promise<HostBroker | undefined> {
  const found = missing === undefined ? await kind.find(tls) : { missing };
  if (!('missing' in found)) return found;
  reportSkipped(`hosts on ${kind.name}`, found.missing);
  return undefined;
}

/** The configuration that the task page gives to operators. */
const natsConfig = (issuer: string): string => `
accounts {
  SYS: { users: [ { user: system, password: ${natsPassword} } ] }
  HOSTS: { jetstream: enabled, users: [ { user: anneal, password: ${natsPassword} } ] }
}
system_account: SYS
authorization {
  timeout: 10
  auth_callout { issuer: ${issuer}, account: HOSTS, auth_users: [ anneal, system ] }
}
`;

export const connectNatsAs = ({ url, user, password, inbox }: HostBrokerAccess, ca?: string): Promise<NatsConnection> =>
  connectNats({
    servers: url,
    user,
    pass: password,
    inboxPrefix: inbox ?? '',
    reconnect: false,
    ...(ca !== undefined && { tls: { ca } }),
  });

/** The address with the credentials, as AMQP libraries want it. */
export const withUser = ({ url, user, password }: HostBrokerAccess): string =>
  url.replace('//', `//${encodeURIComponent(user)}:${encodeURIComponent(password)}@`);

/** A configuration service on the embedded bus, whose hosts may use the broker. */
export const createBrokerRig = ({ environment }: HostBroker, options: { now?: () => Date } = {}): Promise<Rig> =>
  createRig({ environment, ...options });

/** Credentials of a host, as soon as the service has reached the broker. */
export const grantTo = (rig: Rig, host: string): Promise<HostBrokerAccess> =>
  eventually(
    () =>
      rig.ask(hostBrokerGrant, { host }).then(
        ({ access }) => access,
        (error: unknown) => {
          if ((error as { code?: string }).code !== 'Unavailable') throw error;
          return undefined;
        },
      ),
    { what: 'credentials for the broker' },
  );
