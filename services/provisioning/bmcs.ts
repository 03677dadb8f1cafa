/**
 * Connects a node to its management controller: opens the credentials, picks the driver, runs one task at a time.
 *
 * B1 All calls of one turn end at one deadline: that of the node's work, and never after `turnMs`.
 * B2 `cut` ends the running task of a node at once, and starts the next one.
 * B3 A push of the power button toggles, so it is not repeated until the machine had time to follow the last one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { isDeepStrictEqual } from 'node:util';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { NodeDocument, Power } from './documents/node.ts';
import { createFakeDriver } from './fake/driver.ts';
import { createIpmiDriver } from './ipmi/driver.ts';
import { bmcEventsUrl } from '@anneal/runtime/secrets/bmc-events.ts';
import { createRedfishDriver, type RedfishDriverOptions } from './redfish/driver.ts';
import { BmcError } from './bmc/bmc-error.ts';
import type { Contact } from './bmc/health.ts';
import { identityFault } from './documents/identity.ts';
import type { BmcAccess, BmcDriver, BmcMachine, Change, EventReader } from './bmc/port.ts';
import type { NodeRecords } from './documents/records.ts';
import { hasMachine } from './fake/machine.ts';
import { SerialQueues } from './bmc/serial.ts';

/** Shorter than the timer of a step, after which another process takes over the node. */
const turnMs = 60_000;
const pushMs = 60_000;
/** A machine that is neither on nor off gets this time before it is reset. */
const changingMs = 15_000;
/** Errors that a controller has answered with. */
const answered: ReadonlySet<string> = new Set(['BmcRefused', 'IdentityMismatch']);

export interface BmcOptions extends RedfishDriverOptions {
  readonly records: Pick<NodeRecords, 'get' | 'change'>;
  readonly secrets: Secrets;
  readonly now: () => number;
  /** Under which BMCs reach the gateway. */
  readonly gatewayUrl: string;
}

export class Bmcs {
  readonly #options: BmcOptions;
  readonly #drivers: Readonly<Record<NodeDocument['driver'], BmcDriver>>;
  readonly #queues = new SerialQueues();
  readonly #running = new Map<string, Set<AbortController>>();
  readonly #paths = new Map<string, string>();
  readonly #pushed = new Map<string, number>();
  /** By the id of a node: what this process has seen of its controller. */
  readonly #contacts = new Map<string, Contact>();
  /** By the id of a node: its opened password, because each opening allocates tables of the cipher. */
  readonly #passwords = new Map<string, { readonly sealed: Json; readonly password: string | null }>();
  #onAnswer: (node: NodeDocument) => void = () => undefined;

  constructor(options: BmcOptions) {
    this.#options = options;
    this.#drivers = {
      redfish: createRedfishDriver(options),
      ipmi: createIpmiDriver(options),
      'fake-hardware': createFakeDriver(options.records),
    };
  }

  /** Calls `notify` after each turn in which the controller has answered. */
  onAnswer(notify: (node: NodeDocument) => void): void {
    this.#onAnswer = notify;
  }

  async close(): Promise<void> {
    for (const id of this.#running.keys()) this.cut(id, new Error('the service is stopping'));
    await Promise.all(Object.values(this.#drivers).map((driver) => driver.close()));
  }

  /**
   * Runs work in the node's turn. A controller with several systems has one queue per system, as each may hang by
   * itself.
   */
  async with<T>(
    node: NodeDocument,
    work: (machine: BmcMachine, signal: AbortSignal) => Promise<T>,
    { withinMs = turnMs, tries }: { withinMs?: number; tries?: number } = {},
  ): Promise<T> {
    requireOneNode(node);
    const end = new AbortController();
    const left = Math.max(1, Math.min(withinMs, node.work ? node.work.deadline - this.#options.now() : turnMs));
    const timer = setTimeout(() => end.abort(this.#late(node, left)), left);
    const running = this.#running.get(node.id) ?? new Set();
    this.#running.set(node.id, running.add(end));
    try {
      const turn = (): Promise<T> => this.#onMachine(node, { signal: end.signal, tries, work });
      const result = await this.#queues.run(keyOf(node), turn, end.signal);
      this.#noteContact(node.id, true);
      this.#onAnswer(node);
      return result;
    } catch (error) {
      this.#noteContact(node.id, error instanceof AnnealError && answered.has(error.code));
      // A pause that an abort ends reports only the abort; its reason says who ended the turn.
      throw error instanceof Error && error.name === 'AbortError' && end.signal.aborted ? end.signal.reason : error;
    } finally {
      clearTimeout(timer);
      running.delete(end);
      if (running.size === 0) this.#running.delete(node.id);
    }
  }

  /** The contact of this process with the controller of a node. Undefined before the first turn. */
  contactOf(nodeId: string): Contact | undefined {
    return this.#contacts.get(nodeId);
  }

  forget(nodeId: string): void {
    this.#contacts.delete(nodeId);
    this.#passwords.delete(nodeId);
  }

  #noteContact(nodeId: string, hasAnswered: boolean): void {
    const now = this.#options.now();
    this.#contacts.set(nodeId, {
      triedAt: now,
      answeredAt: hasAnswered ? now : this.#contacts.get(nodeId)?.answeredAt,
    });
  }

  /** B2 */
  cut(nodeId: string, reason: Error): void {
    for (const end of this.#running.get(nodeId) ?? []) end.abort(reason);
  }

  /**
   * Follows the events of the controller of a node, beside its queue. Resolves to false when the controller sends none, to
   * true when they have ended. @throws Error when the stream or subscription cannot be opened, or breaks
   */
  followEvents(node: NodeDocument, options: { signal: AbortSignal } & EventReader): Promise<boolean> {
    const { secrets, gatewayUrl } = this.#options;
    const destination = bmcEventsUrl(secrets, gatewayUrl, node.address);
    return this.#drivers[node.driver].followEvents(this.#accessTo(node), { ...options, destination });
  }

  isBusy(node: NodeDocument): boolean {
    return this.#queues.isBusy(keyOf(node));
  }

  /**
   * Resolves when a reading shows the wanted power, or `proven` returns true. A BMC may report the power late, and a
   * machine may be off again before a reading. @throws AnnealError when the reset was accepted without effect.
   */
  ensurePower(
    node: NodeDocument,
    wanted: Power,
    options: { withinMs: number; change?: Change; proven?: () => Promise<boolean> },
  ): Promise<void> {
    return this.with(node, async (machine, signal) => {
      if ((await knownPower(machine, signal)) === wanted) return;
      const outcome = await this.#reset(node, machine, options.change ?? wanted);
      const lost = outcome instanceof BmcError ? outcome : undefined;
      const task = outcome instanceof BmcError ? undefined : outcome.task;
      if (await machine.awaitPower(wanted, options.withinMs, { proven: options.proven, task })) return;
      signal.throwIfAborted();
      if (lost) throw lost;
      throw new AnnealError(
        'BmcRefused',
        `The BMC of node ${node.name} at ${node.address} accepted a reset to ${wanted}, but did not reach that power state within ${options.withinMs / 1000} s.`,
        { details: { node: node.name, url: node.address } },
      );
    });
  }

  /** B3. A reset whose answer was lost may have been carried out. Read the power instead of repeating the reset. */
  async #reset(
    node: NodeDocument,
    machine: BmcMachine,
    change: Change,
  ): Promise<BmcError | { task: string | undefined }> {
    const key = keyOf(node);
    const pushes = await machine.toggles(change);
    if (pushes && Date.now() - (this.#pushed.get(key) ?? -Infinity) < pushMs) return { task: undefined };
    if (pushes) this.#pushed.set(key, Date.now());
    try {
      return await machine.reset(change);
    } catch (error) {
      const unknown = error instanceof BmcError && error.code === 'BmcUnreachable' && error.repeat !== 'always';
      if (unknown) return error;
      this.#pushed.delete(key);
      throw error;
    }
  }

  async #onMachine<T>(
    node: NodeDocument,
    {
      signal,
      tries,
      work,
    }: {
      signal: AbortSignal;
      tries: number | undefined;
      work: (machine: BmcMachine, signal: AbortSignal) => Promise<T>;
    },
  ): Promise<T> {
    const key = keyOf(node);
    const machine = this.#drivers[node.driver].machine({
      ...this.#accessTo(node),
      signal,
      path: this.#paths.get(key) ?? node.identity?.path ?? undefined,
      tries,
    });
    try {
      return await work(machine, signal);
    } finally {
      if (machine.path !== undefined) this.#paths.set(key, machine.path);
    }
  }

  #accessTo(node: NodeDocument): BmcAccess {
    const known = this.#passwords.get(node.id);
    if (known && isDeepStrictEqual(known.sealed, node.password)) return { node, password: known.password };
    const opened = this.#options.secrets.open(node.password);
    const password = typeof opened === 'string' ? opened : null;
    this.#passwords.set(node.id, { sealed: node.password, password });
    return { node, password };
  }

  #late(node: NodeDocument, ms: number): BmcError {
    return new BmcError(
      'BmcUnreachable',
      `The BMC of node ${node.name} at ${node.address} did not complete the request within ${Math.round(ms / 100) / 10} s.`,
      { repeat: 'never', details: { node: node.name, url: node.address } },
    );
  }
}

/** The power, after a change that may go on. Null for a machine whose power stays unknown. */
async function knownPower(machine: BmcMachine, signal: AbortSignal): Promise<Power | null> {
  const end = Date.now() + changingMs;
  for (;;) {
    const power = await machine.power();
    if (power !== null || Date.now() >= end) return power;
    await sleep(500, undefined, { signal });
  }
}

/** Refuses access when another node owns the machine. Older versions could enrol two nodes for one machine. */
function requireOneNode(node: NodeDocument): void {
  if (node.fault !== identityFault || node.foreign !== null) return;
  throw new AnnealError(
    'IdentityMismatch',
    `Node ${node.name} is the same machine as another node, so it is not changed through this one. Remove this node, or correct its address and verify it again with the verb "manage".`,
    { details: { node: node.name, url: node.address } },
  );
}

const keyOf = (node: NodeDocument): string => (hasMachine(node) ? `${node.address} ${node.system_id ?? ''}` : node.id);
