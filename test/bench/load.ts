/**
 * Loads: senders, handlers and counters. The same code drives an adapter and a raw driver.
 *
 * N1 Throughput counts the items that end within the window; the time before it warms up connection, caches and JIT.
 * N2 A latency belongs to one message that began within the window: from the call that sends it (open loop: from when it
 *    was due) to its handler.
 * N3 After the window the load waits for its unfinished items, so that it leaves no messages to the next one.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';

/** A bus, or a raw driver with the same guarantees. */
export interface Side {
  readonly name: string;
  send(queue: string, messages: readonly Envelope[]): Promise<void>;
  consume(queue: string, handle: (message: Envelope) => Promise<void>, prefetch: number): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface LoadSample {
  readonly done: number;
  readonly seconds: number;
  /** In milliseconds. */
  readonly latencies: readonly number[];
  /** Processor time of this process per item: load, driver, adapter and handler, not the broker. */
  readonly cpuMicros: number;
}

export interface Window {
  readonly warmMs: number;
  readonly measureMs: number;
}

interface Load {
  readonly mint: (key: string) => Envelope;
  readonly window: Window;
}

const keyOf = (message: Envelope): string => (message.data as { timer: string }).timer;

/** Counts items, and passes each answer to its waiting caller. */
class Meter {
  readonly #window: Window;
  readonly #inFlight: number;
  readonly #waiting = new Map<string, { since: number; resolve: () => void }>();
  #latencies: number[] = [];
  #begun = 0;
  #arrived = 0;
  #opened: Mark | undefined;
  #closed: Mark | undefined;
  readonly #start = performance.now();

  constructor(window: Window, inFlight: number) {
    this.#window = window;
    this.#inFlight = inFlight;
  }

  /** Call it before each item: it opens and closes the window. */
  get over(): boolean {
    const now = performance.now();
    const { warmMs, measureMs } = this.#window;
    if (!this.#opened) {
      // A slow backend gets more time, up to a limit, so that the window does not measure the first burst.
      const warm = now - this.#start >= warmMs && this.#arrived >= this.#inFlight;
      if (warm || now - this.#start >= warmMs * patience) this.#opened = this.#mark(now);
    } else if (!this.#closed) {
      const lasted = now - this.#opened.at;
      const enough = lasted >= measureMs && this.#arrived - this.#opened.arrived >= 2 * this.#inFlight;
      if (enough || lasted >= measureMs * patience) this.#closed = this.#mark(now);
    }
    return this.#closed !== undefined;
  }

  /** A new item that began now, or when it was due. */
  begin(since = performance.now()): { key: string; end: Promise<void> } {
    const key = String((this.#begun += 1));
    const { promise: end, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(key, { since, resolve });
    return { key, end };
  }

  /** A second delivery of the same item does not count. */
  arrived(key: string): void {
    const found = this.#waiting.get(key);
    if (!found) return;
    this.#waiting.delete(key);
    this.#arrived += 1;
    // Include late items, because the result would look too fast without the slowest ones.
    if (this.#opened && found.since >= this.#opened.at) this.#latencies.push(performance.now() - found.since);
    found.resolve();
  }

  sample(): LoadSample {
    const [opened, closed] = [this.#opened, this.#closed];
    if (!opened || !closed) throw new Error('The window is still open.');
    const done = closed.arrived - opened.arrived;
    return {
      done,
      seconds: (closed.at - opened.at) / 1000,
      latencies: this.#latencies,
      cpuMicros: (closed.cpu - opened.cpu) / Math.max(1, done),
    };
  }

  #mark(at: number): Mark {
    return { at, arrived: this.#arrived, cpu: cpuMicros() };
  }
}

interface Mark {
  readonly at: number;
  readonly arrived: number;
  readonly cpu: number;
}

/** Maximum extension of a window until enough items have arrived. */
const patience = 5;

export function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** `lanes` senders; each sends `batch` messages in one call, and again when all are confirmed and handled. */
export async function oneWay(
  side: Side,
  load: Load & { lanes: number; batch: number; queue: string },
): Promise<LoadSample> {
  const { mint, window, lanes, batch, queue } = load;
  let meter: Meter | undefined;
  const stop = await side.consume(
    queue,
    (message) => {
      meter?.arrived(keyOf(message));
      return Promise.resolve();
    },
    256,
  );
  const running = (meter = new Meter(window, lanes * batch));
  const lane = async (): Promise<void> => {
    while (!running.over) {
      const items = Array.from({ length: batch }, () => running.begin());
      const sent = side.send(
        queue,
        items.map(({ key }) => mint(key)),
      );
      await Promise.all([sent, ...items.map(({ end }) => end)]);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await stop();
  return running.sample();
}

/** `lanes` callers, each waiting for its call before the next; `batch` items in a call. Latency is that of the call. */
export async function closedLoop(load: {
  window: Window;
  lanes: number;
  batch: number;
  call: () => Promise<unknown>;
}): Promise<LoadSample> {
  const { window, lanes, batch, call } = load;
  const meter = new Meter(window, lanes);
  const lane = async (): Promise<void> => {
    while (!meter.over) {
      const { key } = meter.begin();
      await call();
      meter.arrived(key);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const sample = meter.sample();
  return { ...sample, done: sample.done * batch, cpuMicros: sample.cpuMicros / batch };
}

interface Hosts {
  readonly hosts: readonly { requests: string; responses: string }[];
}

/** Request and response through two queues per host, `outstanding` at a time on each. */
export function roundTrips(side: Side, load: Load & Hosts & { outstanding: number }): Promise<LoadSample> {
  const { mint, window, hosts, outstanding } = load;
  return withHosts(side, hosts, new Meter(window, hosts.length * outstanding), async (meter) => {
    const lane = async (queue: string): Promise<void> => {
      while (!meter.over) {
        const { key, end } = meter.begin();
        await Promise.all([side.send(queue, [mint(key)]), end]);
      }
    };
    await Promise.all(hosts.flatMap(({ requests }) => Array.from({ length: outstanding }, () => lane(requests))));
  });
}

/** The same at a fixed rate over the hosts in turn. The latency of a late message counts from when it was due. */
export function atRate(side: Side, load: Load & Hosts & { perSecond: number }): Promise<LoadSample> {
  const { mint, window, hosts, perSecond } = load;
  return withHosts(side, hosts, new Meter(window, 1), async (meter) => {
    const ends: Promise<unknown>[] = [];
    const start = performance.now();
    while (!meter.over) {
      for (;;) {
        const due = start + (ends.length * 1000) / perSecond;
        if (due > performance.now()) break;
        const host = hosts[ends.length % hosts.length];
        if (!host) throw new Error('There is no host.');
        const { key, end } = meter.begin(due);
        ends.push(Promise.all([side.send(host.requests, [mint(key)]), end]));
      }
      await new Promise((resolve) => void setTimeout(resolve, 1));
    }
    await Promise.all(ends);
  });
}

async function withHosts(
  side: Side,
  hosts: Hosts['hosts'],
  meter: Meter,
  run: (meter: Meter) => Promise<void>,
): Promise<LoadSample> {
  const stops = await Promise.all(
    hosts.flatMap(({ requests, responses }) => [
      // The request is acknowledged when its response is confirmed, like in a host's agent.
      side.consume(requests, (message) => side.send(responses, [message]), 16),
      side.consume(
        responses,
        (message) => {
          meter.arrived(keyOf(message));
          return Promise.resolve();
        },
        16,
      ),
    ]),
  );
  await run(meter);
  await Promise.all(stops.map((stop) => stop()));
  return meter.sample();
}
