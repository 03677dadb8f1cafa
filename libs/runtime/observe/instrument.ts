/** Measures, traces and, while the store is away, holds back the messages of a bus, transparently to the services. */
import type { Bus, ConsumeOptions, Handler } from '@anneal/bus/port.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import { kindOf } from '@anneal/contracts/errors.ts';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { StoreGate } from './store-gate.ts';
import { traceHandling, traceparentFor } from './trace.ts';

/** Every host has its own queues; in metrics they are combined into two. */
const labelOf = (queue: string): string =>
  queue.startsWith('host.') ? queue.replace(/^host\..*\.(requests|responses)$/, 'host.*.$1') : queue;

/** The metrics of the bus. */
export const busMetrics = {
  sent: {
    name: 'anneal_messages_sent_total',
    help: 'Messages handed to the broker, by queue and type; events have the queue "events".',
    labelNames: ['queue', 'type'],
  },
  handled: {
    name: 'anneal_message_handling_seconds',
    help: 'Duration of handlers, by queue, type and outcome (done, or the kind of the error).',
    labelNames: ['queue', 'type', 'outcome'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
  },
  takenOver: {
    name: 'anneal_queue_taken_over_total',
    help: 'How often this process became the single active consumer of a queue. It grows only when processes start and stop.',
    labelNames: ['queue'],
  },
};

interface BusInstruments {
  readonly metrics: Registry;
  readonly gate: Pick<StoreGate, 'guard'>;
  /** Called when this process becomes the active consumer of a queue, or ceases to be. */
  readonly onActive: (queue: string, active: boolean) => void;
}

/** A bus that counts and traces what passes, and that takes no work while the store is away. */
export function instrumentBus(bus: Bus, { metrics, gate, onActive }: BusInstruments): Bus {
  const sent = new Counter({ ...busMetrics.sent, registers: [metrics] });
  const handled = new Histogram({ ...busMetrics.handled, registers: [metrics] });
  const takenOver = new Counter({ ...busMetrics.takenOver, registers: [metrics] });

  const measured =
    (handler: Handler): Handler =>
    async (delivery) => {
      const start = performance.now();
      const observe = (outcome: string): void =>
        handled.observe(
          { queue: labelOf(delivery.queue), type: delivery.message.type, outcome },
          (performance.now() - start) / 1000,
        );
      try {
        await traceHandling(delivery, () => handler(delivery));
        observe('done');
      } catch (error) {
        observe(kindOf(error));
        throw error;
      }
    };
  const counting = (queue: string, options?: ConsumeOptions & { group?: string }) => ({
    ...options,
    onActive(active: boolean): void {
      if (active) takenOver.inc({ queue });
      onActive(queue, active);
      options?.onActive?.(active);
    },
  });
  const count = (queue: string, messages: readonly { type: string }[]): void => {
    const label = labelOf(queue);
    const types = new Map<string, number>();
    for (const { type } of messages) types.set(type, (types.get(type) ?? 0) + 1);
    for (const [type, number] of types) sent.inc({ queue: label, type }, number);
  };

  return {
    queues: bus.queues,
    deadLetters: bus.deadLetters,
    async send(parameters) {
      await bus.send(parameters);
      count(parameters.queue, parameters.messages);
    },
    async publish(events) {
      await bus.publish(events);
      count('events', events);
    },
    request: (parameters) => {
      count(parameters.queue, [parameters.message]);
      return bus.request(parameters);
    },
    reply: (parameters) => bus.reply(parameters),
    consume: (queue, handler, options) => bus.consume(queue, gate.guard(measured(handler)), counting(queue, options)),
    subscribe: (patterns, handler, options?: ConsumeOptions & { group?: string }) =>
      bus.subscribe(patterns, gate.guard(measured(handler)), counting(`events.${options?.group}`, options)),
    hold: (name, onHeld) => bus.hold(name, onHeld),
    permission: bus.permission,
    check: () => bus.check(),
    ...(bus.copyTo && { copyTo: bus.copyTo }),
    ...(bus.marks && { marks: bus.marks }),
    ...(bus.outage && { outage: () => bus.outage?.() }),
    close: () => bus.close(),
  };
}

/** Envelopes continue the trace of their cause; without one, that of the message or the request that is handled. */
export const traceMint =
  (mint: Mint): Mint =>
  (definition, parameters) =>
    mint(definition, {
      ...parameters,
      traceparent: traceparentFor(parameters.traceparent ?? parameters.cause?.traceparent),
    });
