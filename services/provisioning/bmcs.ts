/**
 * From a node to its management controller: opened credentials, one client, one thing at a time.
 *
 * B1 Everything that is done in one turn ends at one deadline: that of the node's work, and never after `turnMs`.
 * B2 `cut` ends what runs for a node at once, and gives the turn to the next.
 * B3 A push of the power button toggles: it is not repeated until the machine had time to follow the last one.
 */
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { NodeDocument, Power } from './node-document.ts';
import { identityFault } from './node-faults.ts';
import { RedfishHttp, type HttpOptions } from './redfish/http.ts';
import { RedfishMachine } from './redfish/machine.ts';
import { SerialQueues } from './redfish/serial.ts';
import type { Change } from './redfish/system.ts';
import { BmcError } from './redfish/transport.ts';
import type { Trust } from './redfish/trust.ts';

/** Below the timer that a process sets on a step, after which another one looks at the node. */
const turnMs = 60_000;
const pushMs = 60_000;

export interface BmcOptions {
  readonly secrets: Secrets;
  /** For nodes that say nothing. */
  readonly trust: Trust;
  /** Values that are no identity, in lower case. */
  readonly placeholders: ReadonlySet<string>;
  readonly now: () => number;
  readonly http?: HttpOptions;
}

export class Bmcs {
  readonly #options: BmcOptions;
  readonly #http: RedfishHttp;
  readonly #queues = new SerialQueues();
  readonly #running = new Map<string, Set<AbortController>>();
  readonly #paths = new Map<string, string>();
  readonly #pushed = new Map<string, number>();

  constructor(options: BmcOptions) {
    this.#options = options;
    this.#http = new RedfishHttp(options.http);
  }

  close(): Promise<void> {
    for (const id of this.#running.keys()) this.cut(id, new Error('the service stops'));
    return this.#http.close();
  }

  /** In the node's turn. A controller with several systems has a queue for each: they are dead one by one. */
  async with<T>(
    node: NodeDocument,
    work: (machine: RedfishMachine, signal: AbortSignal) => Promise<T>,
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
      return await this.#queues.run(keyOf(node), turn, end.signal);
    } finally {
      clearTimeout(timer);
      running.delete(end);
      if (running.size === 0) this.#running.delete(node.id);
    }
  }

  /** B2 */
  cut(nodeId: string, reason: Error): void {
    for (const end of this.#running.get(nodeId) ?? []) end.abort(reason);
  }

  isBusy(node: NodeDocument): boolean {
    return this.#queues.isBusy(keyOf(node));
  }

  /**
   * Resolves when the power has been read to be so, or `proven` gives that it was: what a BMC says of the power may be
   * late, and a machine may be off again before anyone looks. @throws AnnealError when the reset was accepted and nothing came of it.
   */
  ensurePower(
    node: NodeDocument,
    wanted: Power,
    options: { withinMs: number; change?: Change; proven?: () => Promise<boolean> },
  ): Promise<void> {
    return this.with(node, async (machine, signal) => {
      if ((await machine.power()) === wanted) return;
      const outcome = await this.#reset(node, machine, options.change ?? wanted);
      const lost = outcome instanceof BmcError ? outcome : undefined;
      const task = outcome instanceof BmcError ? undefined : outcome.task;
      if (await machine.awaitPower(wanted, options.withinMs, { proven: options.proven, task })) return;
      signal.throwIfAborted();
      if (lost) throw lost;
      throw new AnnealError(
        'BmcRefused',
        `The BMC of node ${node.name} at ${node.address} accepted a reset to ${wanted}, but after ${options.withinMs / 1000} s the power is not so.`,
        { details: { node: node.name, url: node.address } },
      );
    });
  }

  /** B3. A reset whose answer was lost may have been carried out: the power says so, not a second reset. */
  async #reset(
    node: NodeDocument,
    machine: RedfishMachine,
    change: Change,
  ): Promise<BmcError | { task: string | undefined }> {
    const key = keyOf(node);
    const pushes = (await machine.resetType(change)) === 'PushPowerButton';
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
      work: (machine: RedfishMachine, signal: AbortSignal) => Promise<T>;
    },
  ): Promise<T> {
    const { secrets, trust, placeholders } = this.#options;
    const password = secrets.open(node.password);
    const key = keyOf(node);
    const machine = new RedfishMachine(this.#http, {
      access: {
        node: node.name,
        address: node.address,
        username: node.username,
        password: typeof password === 'string' ? password : null,
        trust: node.verify_ca ?? trust,
      },
      systemId: node.system_id,
      signal,
      path: this.#paths.get(key) ?? node.identity?.path ?? undefined,
      expected: node.identity ?? null,
      placeholders,
      ...(tries !== undefined && { tries }),
    });
    try {
      return await work(machine, signal);
    } finally {
      if (machine.path !== undefined) this.#paths.set(key, machine.path);
    }
  }

  #late(node: NodeDocument, ms: number): BmcError {
    return new BmcError(
      'BmcUnreachable',
      `The BMC of node ${node.name} at ${node.address} did not do what was asked within ${Math.round(ms / 100) / 10} s.`,
      { repeat: 'never', details: { node: node.name, url: node.address } },
    );
  }
}

/** Of two nodes for one machine, enrolled when that was not refused yet, one is kept away from it. */
function requireOneNode(node: NodeDocument): void {
  if (node.fault !== identityFault || node.foreign !== null) return;
  throw new AnnealError(
    'IdentityMismatch',
    `Node ${node.name} is the same machine as another node, so nothing is done to it through this one. Remove the node, or correct its address and verify it again with the verb "manage".`,
    { details: { node: node.name, url: node.address } },
  );
}

const keyOf = (node: NodeDocument): string => `${node.address} ${node.system_id ?? ''}`;
