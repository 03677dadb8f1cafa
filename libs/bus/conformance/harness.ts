/** The means of the conformance suite: an empty broker, and buses on it. */
import type { Bus } from '../port.ts';
import type { StoreTrouble } from './store.ts';

/** A bus under test, with the means to disturb it. */
export interface OpenedBus {
  readonly bus: Bus;
  /** Sends past all validation, as a foreign program does. */
  readonly sendRaw: (queue: string, bytes: Uint8Array) => Promise<void>;
  /** Makes the store of this bus slow, or takes it away. */
  readonly store: StoreTrouble;
}

/** Opens buses of one adapter for the suite. */
export interface BusHarness {
  /** An empty broker, and a store for data that is too large to travel, until they are disposed of. */
  fresh(): Promise<{ url: string; storeUrl: string; dispose(): Promise<void> }>;
  open(parameters: { url: string; storeUrl: string }): Promise<OpenedBus>;
  /** Skips the tests that take many messages or kills. */
  readonly quick?: boolean;
}
