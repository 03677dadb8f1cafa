/** The broker of the small world: it delivers at least once, late and in any order, and carries the messages of timers. */
import { stackTimerName, type StackTimer } from '@anneal/contracts/stack-timer.ts';
import type { Effect, Input } from '../protocol.ts';
import type { SimulatedClock } from './clock.ts';
import type { Random } from './model.ts';
import type { Disorder } from './tries.ts';

type Timer = Extract<Effect, { kind: 'timer' | 'cancel timer' }>;

/** A timer of a stack. */
export interface SimulatedTimer {
  readonly timer: StackTimer;
  readonly traversal: string;
}

const timerId = (stack: string, { timer, traversal }: SimulatedTimer): string =>
  `${stack} ${traversal} ${stackTimerName(timer)}`;

interface Around {
  readonly clock: SimulatedClock;
  readonly random: Random;
  readonly disorder: Disorder;
  /** Percent of messages that come twice. */
  readonly twice: () => number;
  readonly take: (stack: string, inputs: readonly Input[]) => void;
}

/** Delivers messages, and sets timers. */
export class SimulatedBroker {
  /** Timers that fired, and whose messages are in flight. */
  readonly #due = new Set<string>();
  /** Messages that wait until the process has time for their stack. */
  readonly #inboxes = new Map<string, Input[]>();
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  /** Delivers an input to a stack after the delay. */
  deliver(stack: string, input: Input, delay: number): void {
    const { clock, random, twice, disorder } = this.#around;
    const arrive = (): void => {
      this.#inboxes.set(stack, [...(this.#inboxes.get(stack) ?? []), input]);
      // The process may be at work on another stack while more messages come.
      if (disorder.chance(15)) clock.after(disorder.below(200), () => this.#open(stack));
      else this.#open(stack);
    };
    clock.after(delay, arrive);
    if (random(100) < twice()) clock.after(delay + random(5000), arrive);
  }

  /** Takes all that came for a stack, in one step and in any order. */
  #open(stack: string): void {
    const inputs = this.#inboxes.get(stack) ?? [];
    this.#inboxes.delete(stack);
    for (const input of inputs) if (input.kind === 'timer') this.#due.delete(timerId(stack, input));
    if (inputs.length > 0) this.#around.take(stack, this.#around.disorder.inSomeOrder(inputs));
  }

  /** Sets or cancels a timer of a stack. */
  setTimer(stack: string, effect: Timer): void {
    const { clock } = this.#around;
    const id = timerId(stack, effect);
    if (effect.kind === 'cancel timer') {
      clock.cancelTimer(id);
      this.#due.delete(id);
      return;
    }
    const { timer, traversal } = effect;
    // The groups of this world decide nothing.
    if (timer.kind === 'group') return;
    clock.setTimer(id, Date.parse(effect.at), () => {
      this.#due.add(id);
      this.deliver(stack, { kind: 'timer', id: `timer ${id} ${clock.now}`, timer, traversal }, 0);
    });
  }

  /** Whether a timer is set, or its message is in flight. */
  isSet(stack: string, timer: SimulatedTimer): boolean {
    const id = timerId(stack, timer);
    return this.#due.has(id) || this.#around.clock.hasTimer(id);
  }
}
