/** Reads the events of one subscription from the log into lanes: those that were just stored, or pages of the log. */
import { isOwnNotice } from '../documents/drops.ts';
import type { EventDocument, EventLog } from '../events/event-log.ts';
import { eventsProjectOf, wantedBy, type SubscriptionDocument } from '../documents/subscription.ts';
import { subjectItem, type EventLanes } from './lanes.ts';
import { mostInMemory } from './progress.ts';

/** Another replica may store events that this process does not see. */
const lookEveryMs = 1_000;

export class LogReader {
  readonly #log: EventLog;
  readonly #lanes: EventLanes;
  readonly #subscription: SubscriptionDocument;
  readonly #wants: (document: EventDocument) => boolean;
  /** Numbers of events that are settled, or stored as a delivery. */
  readonly #known: ReadonlySet<number>;
  /** True while the log may have events that are not in the lanes. */
  #isBehind = true;
  /** True when nothing but the time makes it read. */
  #isLook = false;
  #pushes = 0;
  #lookAt: number;

  constructor({
    log,
    lanes,
    subscription,
    known,
    now,
  }: {
    log: EventLog;
    lanes: EventLanes;
    subscription: SubscriptionDocument;
    known: ReadonlySet<number>;
    now: number;
  }) {
    this.#log = log;
    this.#lanes = lanes;
    this.#subscription = subscription;
    this.#wants = wantedBy(subscription);
    this.#known = known;
    this.#lookAt = now + lookEveryMs;
  }

  /** True when the log may have more than the lanes. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** The next time at which the log is read without a push. */
  get lookAt(): number {
    return this.#lookAt;
  }

  /** Takes events that were just stored. False when they do not follow those that were read, so `read` must. */
  push(kept: readonly EventDocument[]): boolean {
    this.#pushes += 1;
    if (this.#isBehind || this.#lanes.window >= mostInMemory) {
      this.#isBehind = true;
      return true;
    }
    for (const document of kept) {
      if (document.sequence <= this.#lanes.readUpTo) continue;
      if (document.sequence > this.#lanes.readUpTo + 1) {
        this.#isBehind = true;
        return false;
      }
      this.#consider(document);
    }
    return true;
  }

  /** Makes `read` read the log when it was last read long ago. */
  look(now: number): void {
    if (now < this.#lookAt) return;
    this.#isLook = !this.#isBehind;
    this.#isBehind = true;
    this.#lookAt = now + lookEveryMs;
  }

  /** Reads one page, up to this number of events in memory. True when it examined an event, wanted or not. */
  async read(most: number): Promise<boolean> {
    const before = this.#pushes;
    const isLook = this.#isLook;
    this.#isLook = false;
    if (isLook && (await this.#log.recentLast()) <= this.#lanes.readUpTo && this.#pushes === before) {
      this.#isBehind = false;
      return false;
    }
    const limit = Math.min(250, most - this.#lanes.window);
    const project = eventsProjectOf(this.#subscription);
    const page = await this.#log.read({ project, after: this.#lanes.readUpTo, filter: this.#subscription, limit });
    for (const document of page.events) this.#consider(document);
    this.#lanes.advance(page.position);
    this.#isBehind = this.#pushes !== before || page.events.length === limit;
    return page.upTo !== undefined;
  }

  #consider(document: EventDocument): void {
    const { sequence } = document;
    const isNew = !this.#known.has(sequence) && this.#wants(document) && !isOwnNotice(this.#subscription, document);
    if (isNew) this.#lanes.add(subjectItem(document));
    else this.#lanes.advance(sequence);
  }
}
