/**
 * The sensors of the nodes that this replica polls, as metrics. Off unless an interval is set, because a reading costs a
 * BMC a request for each sensor, and a node has about twenty series.
 */
import type { Sensor } from '@anneal/contracts/calls/node-hardware.ts';
import { serveValues, serviceMetrics, type LabelledValue } from '@anneal/runtime/observe/service-metrics.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

/** The sensors of a node, as its BMC showed them last. */
interface Reading {
  readonly node: string;
  readonly sensors: readonly Sensor[];
}

export class SensorMetrics {
  readonly #everyMs: number;
  readonly #last = new Map<string, Reading>();
  /** When each node is due, of a clock that never goes back. */
  readonly #due = new Map<string, number>();
  readonly #stop: () => void;

  /** @param everyMs 0: read none, and serve no metric */
  constructor({ metrics, everyMs }: { metrics: ServiceContext['metrics']; everyMs: number }) {
    this.#everyMs = everyMs;
    this.#stop = everyMs > 0 ? serve(metrics, this.#last) : () => {};
  }

  /**
   * Whether to read the sensors of a node now; it is due again after an interval. The first readings are spread over an
   * interval.
   */
  isDue(id: string, now: number): boolean {
    if (this.#everyMs === 0) return false;
    const at = this.#due.get(id) ?? now + Math.random() * this.#everyMs;
    this.#due.set(id, at <= now ? now + this.#everyMs : at);
    return at <= now;
  }

  /** Keeps the sensors of a node. @param sensors undefined when its BMC did not answer, because old values mislead */
  keep(id: string, { node, sensors }: { node: string; sensors: readonly Sensor[] | undefined }): void {
    if (sensors) this.#last.set(id, { node, sensors });
    else this.#last.delete(id);
  }

  /** Forgets a node that was removed, or that another replica reads. */
  forget(id: string): void {
    this.#due.delete(id);
    this.#last.delete(id);
  }

  stop(): void {
    this.#stop();
  }
}

/** Serves the readings until the returned function is called. */
function serve(metrics: ServiceContext['metrics'], last: ReadonlyMap<string, Reading>): () => void {
  const all = (valueOf: (sensor: Sensor) => LabelledValue | undefined) => (): LabelledValue[] =>
    [...last.values()].flatMap(({ node, sensors }) =>
      sensors.flatMap((sensor) => {
        const { labels = {}, value } = valueOf(sensor) ?? {};
        return value === undefined
          ? []
          : [{ labels: { node, sensor: sensor.name, kind: sensor.kind, ...labels }, value }];
      }),
    );
  const stops = [
    serveValues({
      metrics,
      definition: serviceMetrics.sensors,
      values: all(({ unit, reading }) =>
        reading === null ? undefined : { labels: { unit: unit ?? '' }, value: reading },
      ),
    }),
    serveValues({
      metrics,
      definition: serviceMetrics.sensorAlarms,
      values: all(({ state }) =>
        ['warning', 'critical'].includes(state) ? { labels: { state }, value: 1 } : undefined,
      ),
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
