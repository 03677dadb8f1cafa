/**
 * Follows the events of controllers that send them as a stream (Redfish's ServerSentEventUri) or to a subscription, so that a
 * change of power is noticed at once. Readings continue, because controllers lose events.
 *
 * E1 One stream per address, however many nodes are behind it: controllers accept few streams.
 * E2 A stream that cannot be opened is tried again after a pause that doubles up to an hour. One that ended after it was
 *    open is opened again soon.
 * E3 An event is only a reason to read: nothing in it is believed.
 */
import { isObject, jsonIn } from '@anneal/contracts/plain-json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { NodeDocument } from '../documents/node.ts';
import type { Bmcs } from '../bmcs.ts';
import { nodeGone } from '../bmc/port.ts';

const shortestPauseMs = 10_000;
const longestPauseMs = 3_600_000;
/** More would cost too many connections of this process. */
const most = 10_000;
/** An enclosure has at most this many. */
const mostUnnamed = 16;

interface Stream {
  /** Undefined while it is not open. */
  end: AbortController | undefined;
  pauseMs: number;
  /** The time from which it may be opened again. */
  from: number;
}

export interface EventStreamsOptions {
  readonly bmcs: Pick<Bmcs, 'followEvents'>;
  readonly log: Pick<ServiceContext['log'], 'debug' | 'info'>;
  /** Milliseconds, of a clock that never goes back. */
  readonly now: () => number;
  /** Reads nodes of this address. `origins`: the paths that the events name; none when an event names none. */
  readonly onEvents: (address: string, origins: readonly string[]) => void;
}

export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #streams = new Map<string, Stream>();
  readonly #running = new Set<Promise<void>>();
  #stopped = false;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
  }

  /** Opens the stream of a node whose controller has just answered, unless it is open. */
  keep(node: NodeDocument): void {
    const { address } = node;
    const stream = this.#streams.get(address) ?? { end: undefined, pauseMs: shortestPauseMs, from: 0 };
    if (this.#stopped || stream.end || this.#options.now() < stream.from) return;
    if (!this.#streams.has(address) && this.#streams.size >= most) return;
    stream.end = new AbortController();
    this.#streams.set(address, stream);
    const running = this.#follow(node, stream, stream.end.signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Ends the streams of all other addresses. @param known the addresses of all nodes, also of those of other replicas */
  retain(addresses: ReadonlySet<string>, known: ReadonlySet<string> = addresses): void {
    for (const [address, { end }] of this.#streams) {
      if (addresses.has(address)) continue;
      end?.abort(known.has(address) ? undefined : nodeGone);
      this.#streams.delete(address);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.retain(new Set(), new Set(this.#streams.keys()));
    await Promise.all(this.#running);
  }

  async #follow(node: NodeDocument, stream: Stream, signal: AbortSignal): Promise<void> {
    const { bmcs, log, now, onEvents } = this.#options;
    const { address } = node;
    let pauseMs = Math.min(stream.pauseMs * 2, longestPauseMs);
    try {
      const onOpen = (): void => log.debug({ node: node.name, address }, 'following the events of a BMC');
      const onData = (data: string): void => {
        pauseMs = shortestPauseMs;
        onEvents(address, originsOf(data));
      };
      if (!(await bmcs.followEvents(node, { signal, onOpen, onData }))) pauseMs = longestPauseMs;
    } catch (error) {
      if (!signal.aborted) log.info({ err: error, node: node.name, address }, 'events of a BMC not followed; retrying');
    }
    stream.end = undefined;
    stream.pauseMs = pauseMs;
    stream.from = now() + pauseMs;
  }
}

/** The resources that an event of Redfish is about. Pure. None for what is no such event. */
export function originsOf(data: string): string[] {
  const event = jsonIn(data);
  const records = isObject(event) && Array.isArray(event['Events']) ? event['Events'] : [];
  return records.flatMap((record) => {
    const origin = isObject(record) ? record['OriginOfCondition'] : undefined;
    const path = isObject(origin) ? origin['@odata.id'] : origin;
    return typeof path === 'string' ? [path] : [];
  });
}

/**
 * The nodes of an address that events are about. Pure. All of them when no event names one, because an enclosure may report
 * by a chassis or a manager; none where there are too many to be an enclosure.
 */
export function nodesAbout(nodes: readonly NodeDocument[], origins: readonly string[]): readonly NodeDocument[] {
  const named = nodes.filter(({ identity }) => {
    const path = identity?.path;
    return typeof path === 'string' && origins.some((origin) => origin === path || origin.startsWith(`${path}/`));
  });
  return named.length > 0 || nodes.length > mostUnnamed ? named : nodes;
}
