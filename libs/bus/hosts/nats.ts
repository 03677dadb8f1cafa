/**
 * The door on NATS. The server asks Anneal about every client that is none of its configured users (authorization
 * callout). So credentials exist as soon as the service knows them, without a restart of the server.
 *
 * N1 Nothing is stored on the server: a host that says hello gets its request again, and repeats a message that got no
 *    reply.
 * N2 A reply goes only to a subject that its host can read (`mayReplyTo`).
 */
import { setTimeout as wait } from 'node:timers/promises';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { connect, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { readNatsUrl, type NatsUrl } from '../nats/url.ts';
import { doorAway, withoutUser, type BrokerAccess, type HostDoor, type HostDoorOptions } from './door.ts';
import { CalloutSigner, readCallout } from './nats-callout.ts';
import {
  brokerUserOf,
  hostOfBrokerUser,
  hostOfSubject,
  mayReplyTo,
  natsAnswers,
  natsPlaces,
  natsRights,
} from './rights.ts';

const againMs = 1_000;
/** How long servers of a cluster have for the list of their connections. */
const listMs = 1_000;
/** The most messages of hosts in work. The rest get no reply, so their hosts repeat them. */
const mostInWork = 1_000;
const group = 'anneal';

/** @throws AnnealError InvalidRequest for a wrong or missing setting */
export async function openNatsHostDoor(options: HostDoorOptions): Promise<HostDoor> {
  const { adminUrl, key } = options;
  if (adminUrl === undefined || key === undefined) {
    const missing = [
      ...(adminUrl === undefined ? ['ANNEAL_CONFIGURATION_HOST_BROKER_ADMIN_URL (a user of the system account)'] : []),
      ...(key === undefined ? ['ANNEAL_CONFIGURATION_HOST_BROKER_KEY (the seed of the issuer)'] : []),
    ];
    throw new AnnealError('InvalidRequest', `A NATS for hosts needs more settings: set ${missing.join(' and ')}.`);
  }
  const [own, admin] = await Promise.all([readNatsUrl(options.url), readNatsUrl(adminUrl)]);
  return new NatsHostDoor(options, { own, admin, signer: new CalloutSigner(key) });
}

interface Open {
  readonly nc: NatsConnection;
  readonly system: NatsConnection;
  /** The account that hosts are in: that of Anneal itself. */
  readonly account: string;
  readonly subscriptions: readonly Subscription[];
}

class NatsHostDoor implements HostDoor {
  readonly #options: HostDoorOptions;
  readonly #prefix: string;
  readonly #urls: { own: NatsUrl; admin: NatsUrl };
  readonly #signer: CalloutSigner;
  readonly #stopping = new AbortController();
  #open: Open | undefined;
  /** The connections that are not in use yet. */
  #opening: NatsConnection[] = [];
  #trouble = 'not connected yet';
  readonly #inWork = new Set<Promise<void>>();

  constructor(options: HostDoorOptions, given: { own: NatsUrl; admin: NatsUrl; signer: CalloutSigner }) {
    this.#options = options;
    this.#urls = given;
    this.#prefix = given.own.prefix;
    this.#signer = given.signer;
    void this.#connect();
  }

  async grant(host: string): Promise<BrokerAccess> {
    const user = brokerUserOf(host);
    await this.#kick(host);
    const url = this.#options.address ?? withoutUser(this.#options.url);
    return { broker: 'nats', url, user, ...natsPlaces(this.#prefix, host) };
  }

  async revoke(host: string, last?: string): Promise<void> {
    if (last !== undefined) {
      const { nc } = this.#opened(`Cannot send the last message to host ${host}`);
      nc.publish(natsPlaces(this.#prefix, host).requests, last);
      // The server has passed it on before it ends the connection of the host.
      await nc.flush();
    }
    return this.#kick(host);
  }

  async push(host: string, text: string): Promise<void> {
    const { nc } = this.#opened(`Cannot send a request to host ${host}`);
    nc.publish(natsPlaces(this.#prefix, host).requests, text);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    const open = this.#open;
    this.#open = undefined;
    // Else a connection that was about to be in use would take messages after the stop.
    await this.#closeOpening();
    if (!open) return;
    // Messages that are here get their replies, because their hosts would wait for the end of a request's time.
    await Promise.all(open.subscriptions.map((each) => each.drain().catch(() => undefined)));
    await Promise.all(this.#inWork);
    await Promise.all([open.nc.close(), open.system.close()]);
  }

  #opened(what: string): Open {
    const open = this.#open;
    if (!open) throw doorAway(what, this.#trouble);
    return open;
  }

  async #connect(): Promise<void> {
    const { log, name } = this.#options;
    const always = { maxReconnectAttempts: -1, reconnectTimeWait: 250, ignoreAuthErrorAbort: true, timeout: 5_000 };
    while (!this.#stopping.signal.aborted) {
      try {
        const nc = await connect({ ...this.#urls.own.connection, ...always, name: `${name}/hosts` });
        this.#opening.push(nc);
        const system = await connect({ ...this.#urls.admin.connection, ...always, name: `${name}/hosts-admin` });
        this.#opening.push(system);
        const info = (await nc.request('$SYS.REQ.USER.INFO')).json<{ data: { account: string } }>();
        this.#stopping.signal.throwIfAborted();
        const { account } = info.data;
        const subscriptions = [
          nc.subscribe('$SYS.REQ.USER.AUTH', {
            queue: group,
            callback: (_, message) => this.#begin(this.#authorize(message, account)),
          }),
          nc.subscribe(natsAnswers(this.#prefix), {
            queue: group,
            callback: (_, message) => this.#begin(this.#handle(message)),
          }),
        ];
        await nc.flush();
        this.#stopping.signal.throwIfAborted();
        this.#open = { nc, system, account, subscriptions };
        this.#opening = [];
        return;
      } catch (error) {
        if (this.#stopping.signal.aborted) break;
        this.#trouble = error instanceof Error ? error.message : String(error);
        log.warn({ err: error }, 'broker for hosts cannot be reached; retrying. Hosts over HTTP are not affected');
      }
      await this.#closeOpening();
      await wait(againMs, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined);
    }
    await this.#closeOpening();
  }

  async #closeOpening(): Promise<void> {
    await Promise.all(this.#opening.splice(0).map((each) => each.close()));
  }

  #begin(work: Promise<void>): void {
    const begun = work.finally(() => this.#inWork.delete(begun));
    this.#inWork.add(begun);
  }

  async #authorize(message: Msg, account: string): Promise<void> {
    const question = readCallout(message.string());
    if (!question) return;
    const host = hostOfBrokerUser(question.user);
    const now = new Date();
    try {
      const isGranted = host !== undefined && (await this.#options.isGranted(host, question.password));
      const answer = isGranted
        ? this.#signer.accept(question, {
            account,
            rights: natsRights(natsPlaces(this.#prefix, host)),
            now,
          })
        : this.#signer.refuse(question, { error: 'these are no current credentials of a host', now });
      message.respond(answer);
    } catch (error) {
      // The server refuses a client without an answer, and the client tries again.
      this.#options.log.warn({ err: error, host }, 'credentials of a host not checked; the host has to try again');
    }
  }

  async #handle(message: Msg): Promise<void> {
    const host = hostOfSubject(this.#prefix, message.subject);
    if (host === undefined || this.#inWork.size >= mostInWork) return;
    const reply = await this.#options.take(host, message.data).catch((error: unknown): JsonObject => {
      this.#options.log.warn({ err: error, host }, 'message of a host not handled; the host repeats it');
      return { accepted: false, retry: true, error: toFailure(error).message };
    });
    // N2
    if (mayReplyTo(natsPlaces(this.#prefix, host), message.reply)) message.respond(JSON.stringify(reply));
  }

  /** Ends the connections of a host, on every server. @throws AnnealError Unavailable */
  async #kick(host: string): Promise<void> {
    const user = brokerUserOf(host);
    const what = `Cannot end the connections of host ${host}`;
    const { system, account } = this.#opened(what);
    try {
      const filter = JSON.stringify({ auth: true, acc: account, user, limit: 1024 });
      const options = { maxWait: listMs, strategy: 'stall' as const, stall: 300 };
      for await (const answer of await system.requestMany('$SYS.REQ.SERVER.PING.CONNZ', filter, options)) {
        const { server, data } = answer.json<ConnectionList>();
        for (const { cid, authorized_user } of data?.connections ?? []) {
          if (authorized_user !== user) continue;
          await system.request(`$SYS.REQ.SERVER.${server.id}.KICK`, JSON.stringify({ cid }), { timeout: 5_000 });
        }
      }
    } catch (error) {
      throw doorAway(what, error instanceof Error ? error.message : String(error));
    }
  }
}

interface ConnectionList {
  readonly server: { readonly id: string };
  readonly data?: { readonly connections?: readonly { readonly cid: number; readonly authorized_user?: string }[] };
}
