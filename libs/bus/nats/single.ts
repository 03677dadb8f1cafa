/** The consumers in this process of a queue that has one active consumer: the first of them, while the process owns it. */
import type { BrokerConsumer, Intake } from '../broker.ts';
import type { Consumption } from './consumption.ts';
import type { Link } from './link.ts';
import type { Candidate, Members } from './members.ts';

const yieldMs = 4_000;
const againMs = 500;

interface Entry {
  readonly consumption: Consumption;
  readonly intake: Intake;
}

export class SingleQueue implements Candidate {
  readonly #queue: string;
  readonly #link: Link;
  readonly #members: Members;
  readonly #onEmpty: () => void;
  readonly #entries: Entry[] = [];
  #active: Entry | undefined;
  #owned = false;

  constructor(parameters: { queue: string; link: Link; members: Members; onEmpty: () => void }) {
    this.#queue = parameters.queue;
    this.#link = parameters.link;
    this.#members = parameters.members;
    this.#onEmpty = parameters.onEmpty;
  }

  async add(entry: Entry): Promise<BrokerConsumer> {
    this.#entries.push(entry);
    if (this.#entries.length === 1) await this.#members.stand(this.#queue, this);
    this.#next();
    return { drain: () => entry.consumption.drain(), close: () => this.#remove(entry) };
  }

  activate(): void {
    this.#owned = true;
    this.#next();
  }

  async yield(): Promise<void> {
    this.#owned = false;
    const entry = this.#active;
    await entry?.consumption.rest({ deadlineMs: yieldMs });
    this.#ceased(entry);
  }

  lose(): void {
    this.#owned = false;
    const entry = this.#active;
    entry?.consumption.stopPulling();
    entry?.consumption.lose();
    this.#ceased(entry);
  }

  #next(): void {
    const entry = this.#entries[0];
    if (!this.#owned || this.#active || !entry) return;
    this.#active = entry;
    entry.intake.onActive?.(true);
    void this.#start(entry);
  }

  async #start(entry: Entry): Promise<void> {
    while (this.#active === entry && !this.#link.closed) {
      try {
        await entry.consumption.activate({ alone: true });
        return;
      } catch (error) {
        this.#link.log.warn({ err: error, queue: this.#queue }, 'A queue cannot be taken over yet; tried again.');
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
  }

  #ceased(entry: Entry | undefined): void {
    if (!entry || this.#active !== entry) return;
    this.#active = undefined;
    entry.intake.onActive?.(false);
  }

  async #remove(entry: Entry): Promise<void> {
    await entry.consumption.close();
    const place = this.#entries.indexOf(entry);
    if (place === -1) return;
    this.#entries.splice(place, 1);
    this.#ceased(entry);
    if (this.#entries.length > 0) {
      this.#next();
      return;
    }
    this.#owned = false;
    this.#onEmpty();
    await this.#members.withdraw(this.#queue);
  }
}
