/**
 * The hosts that wait for work on an open connection. An open connection shows that its host is alive, so such a host
 * sends nothing until it gets work or its wait ends.
 *
 * P1 The configuration service gets one report for all waiting hosts every 15 s. A lost report is replaced by the next.
 * P3 Every fourth report asks which of them have requests, and wakes those: the bus may lose the event that wakes a host.
 * P2 TCP keepalive closes the connection of a host that lost its power or its network within `closedWithinMs`. The
 *    report states this time, so that such a host does not count as present for longer than it was.
 * P4 A host has at most 32 waiting connections, so that a hostile one does not use up the gateway. An agent has one or two.
 */
import type { Socket } from 'node:net';
import { hostsPresent } from '@anneal/contracts/calls/hosts.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Ask } from './ask.ts';

const reportEveryMs = 15_000;
/** Node sends ten probes, one a second, after a connection was quiet for this time. */
const quietMs = 10_000;
const closedWithinMs = quietMs + 10_000;
const idsInReport = 1000;
const reportsPerLook = 4;
const mostConnections = 32;

/** A host that waits on one connection. */
export interface WaitingHost {
  readonly id: string;
  readonly project: string;
  /** Makes it look for requests. */
  readonly wake: () => void;
}

interface HeldHostsOptions {
  readonly ask: Ask;
  readonly onError: (error: unknown) => void;
  readonly reportEveryMs?: number;
}

/** Reports the hosts that wait now, until it is stopped. */
export class HeldHosts {
  readonly #options: HeldHostsOptions;
  /** The connections of each host that wait. */
  readonly #held = new Map<string, Set<WaitingHost>>();
  #reports = 0;
  readonly #probed = new WeakSet<Socket>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: HeldHostsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#report(), options.reportEveryMs ?? reportEveryMs);
    this.#timer.unref();
  }

  /**
   * Counts a host as waiting on this connection. Returns the function that ends it.
   * @throws AnnealError LimitReached (P4)
   */
  hold(host: WaitingHost, socket: Socket): () => void {
    const connections = this.#held.get(host.id) ?? new Set();
    if (connections.size >= mostConnections) {
      throw new AnnealError(
        'LimitReached',
        `Host ${host.id} has ${connections.size} connections that wait for work, and ${mostConnections} is the limit. Close some first.`,
      );
    }
    if (!this.#probed.has(socket)) {
      socket.setKeepAlive(true, quietMs); // P2
      this.#probed.add(socket);
    }
    this.#held.set(host.id, connections.add(host));
    return () => {
      connections.delete(host);
      if (connections.size === 0 && this.#held.get(host.id) === connections) this.#held.delete(host.id);
    };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** P1 */
  async #report(): Promise<void> {
    const looks = this.#reports % reportsPerLook === reportsPerLook - 1;
    try {
      for (const [project, hosts] of this.#byProject()) {
        for (let first = 0; first < hosts.length; first += idsInReport) {
          const data = { host_ids: hosts.slice(first, first + idsInReport), within_ms: closedWithinMs };
          const asked = { data: { ...data, ...(looks && { look_in: project }) } };
          const { waiting = [] } = await this.#options.ask('configuration', hostsPresent, asked);
          for (const id of waiting) for (const host of this.#held.get(id) ?? []) host.wake(); // P3
        }
      }
      this.#reports += 1;
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #byProject(): Map<string, string[]> {
    const projects = new Map<string, string[]>();
    for (const [id, [connection]] of this.#held) {
      if (!connection) continue;
      const hosts = projects.get(connection.project);
      if (hosts) hosts.push(id);
      else projects.set(connection.project, [id]);
    }
    return projects;
  }
}
