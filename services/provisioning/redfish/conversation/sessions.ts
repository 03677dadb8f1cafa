/**
 * Authentication at controllers: a session, else Basic.
 *
 * R1 Controllers have few sessions: use one per address and user, shared by its systems and opened once for all callers.
 * R2 A 401 or 403 to a session replaces it once, because controllers answer either when a session has ended. The answer to
 *    the new session is the controller's answer.
 */
import { createHash } from 'node:crypto';
import { isOwn, linkIn, ownUrl } from './links.ts';
import { RedfishRefusal } from './refusal.ts';
import type { Access, RedfishAnswer, Transport } from './transport.ts';

interface SessionState {
  readonly access: Access;
  token: string | undefined;
  /** The path at which it is deleted. */
  location: string | undefined;
  /** Use Basic until this time, because the controller has no sessions or no free one. */
  basicUntil: number;
  opening: Promise<void> | undefined;
  /** The refusal of a session by a controller that was busy. */
  busy: RedfishRefusal | undefined;
  /** It has refused Basic when it had no session. Many controllers lock a user after a few refusals. */
  refusesBasic: boolean;
}

export interface BmcLogin {
  readonly headers: Readonly<Record<string, string>>;
  /** Absent with Basic, and without a user. */
  readonly token: string | undefined;
}

const deleteMs = 2_000;
const usualPlace = '/redfish/v1/SessionService/Sessions';

export class BmcSessions {
  readonly #transport: Transport;
  readonly #closing: AbortSignal;
  readonly #states = new Map<string, SessionState>();

  constructor(transport: Transport, closing: AbortSignal) {
    this.#transport = transport;
    this.#closing = closing;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#states.values()].map((state) => this.#delete(state)));
  }

  /** The headers that every request to a controller has: the version of the protocol, and a session or Basic. */
  async credentials(access: Access, signal: AbortSignal): Promise<BmcLogin> {
    const token = await this.#token(access, signal);
    const shown = token === undefined ? basic(access) : { 'x-auth-token': token };
    return { headers: { 'odata-version': '4.0', ...shown }, token };
  }

  /** Whether no caller has given up the session. */
  isCurrent(access: Access, token: string): boolean {
    return this.#stateOf(access).token === token;
  }

  /**
   * The refusal of the last session, when Basic was refused too: a controller without Basic that was busy for a moment. The
   * next request opens a session.
   */
  takeBusy(access: Access): RedfishRefusal | undefined {
    const state = this.#stateOf(access);
    const { busy } = state;
    if (busy) {
      state.basicUntil = 0;
      state.refusesBasic = true;
    }
    return busy;
  }

  /** R2. Ends a session that the controller refuses, unless another caller has replaced it. */
  async giveUp(access: Access, refused: string): Promise<void> {
    const state = this.#stateOf(access);
    if (state.token !== refused) return;
    const { location } = state;
    state.token = undefined;
    state.location = undefined;
    // A session that only lacks a privilege still takes a place at the controller.
    await this.#delete({ access, token: refused, location });
  }

  async #token(access: Access, signal: AbortSignal): Promise<string | undefined> {
    if (access.username === null) return undefined;
    const state = this.#stateOf(access);
    if (state.token !== undefined) return state.token;
    if (Date.now() < state.basicUntil) return undefined;
    // R1: a caller during the opening of a session waits for that session, within its own time limit.
    if (!state.opening) {
      state.opening = this.#open(state).finally(() => {
        state.opening = undefined;
      });
      // Each caller gets the error below. When all of them have left, it concerns none.
      state.opening.catch(() => undefined);
    }
    await unlessAborted(state.opening, signal);
    return state.token;
  }

  async #open(state: SessionState): Promise<void> {
    const { access } = state;
    const headers = { accept: 'application/json' };
    const signal = this.#closing;
    const read = (given: string, what: string): Promise<RedfishAnswer> =>
      this.#transport.exchange(access, { method: 'GET', url: ownUrl(access, given, { what }), headers, signal });
    const { body: root } = await read('/redfish/v1/', 'its root');
    const service = linkIn(root, 'Links', 'Sessions') === undefined ? linkIn(root, 'SessionService') : undefined;
    const found = service === undefined ? undefined : (await read(service, 'SessionService')).body;
    const path = linkIn(root, 'Links', 'Sessions') ?? linkIn(found, 'Sessions') ?? usualPlace;
    const url = ownUrl(access, path, { what: 'its sessions (Links/Sessions)' });
    const answer = await this.#transport.exchange(access, {
      method: 'POST',
      url,
      headers: { ...headers, 'content-type': 'application/json' },
      body: { UserName: access.username, Password: access.password ?? '' },
      signal,
    });
    state.busy = undefined;
    if (answer.status >= 300 || answer.token === undefined) {
      const refusal = new RedfishRefusal(access, { method: 'POST', url }, answer);
      if (refusal.repeat === 'always') {
        if (state.refusesBasic) throw refusal;
        state.busy = refusal;
      }
      state.basicUntil = Date.now() + 60_000;
      return;
    }
    state.token = answer.token;
    state.location = [answer.location, linkIn(answer.body)].find(
      (place) => place !== undefined && isOwn(access, place),
    );
  }

  async #delete({ access, token, location }: Pick<SessionState, 'access' | 'token' | 'location'>): Promise<void> {
    if (token === undefined || location === undefined) return;
    const url = ownUrl(access, location, { what: 'its session' });
    const headers = { 'x-auth-token': token };
    const signal = AbortSignal.timeout(deleteMs);
    await this.#transport.exchange(access, { method: 'DELETE', url, headers, signal }).catch(() => undefined);
  }

  #stateOf(access: Access): SessionState {
    const key = keyOf(access);
    const none = {
      access,
      token: undefined,
      location: undefined,
      basicUntil: 0,
      opening: undefined,
      busy: undefined,
      refusesBasic: false,
    };
    const state = this.#states.get(key) ?? none;
    this.#states.set(key, state);
    return state;
  }
}

/** The result of `work`, or the reason of the signal as soon as it aborts. `work` continues for other callers. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Nodes with different trust share no session, because each verifies the controller in its own way. */
const keyOf = (access: Access): string =>
  `${new URL(access.address).origin} ${createHash('sha256')
    .update(JSON.stringify([access.username, access.password, access.trust]))
    .digest('hex')}`;

function basic(access: Access): { authorization: string } | object {
  if (access.username === null) return {};
  return { authorization: `Basic ${Buffer.from(`${access.username}:${access.password ?? ''}`).toString('base64')}` };
}
