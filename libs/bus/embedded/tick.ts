/** One transaction per turn of the event loop, as the parts of the embedded broker see it. */
import type { Packet } from '../broker.ts';
import type { Database } from './database.ts';
import type { Lane } from './lane.ts';
import type { Lanes } from './lanes.ts';

/** The shared parts of the broker. */
export interface Tick {
  readonly database: Database;
  readonly lanes: Lanes;
  readonly now: () => Date;
  /** Runs in the transaction of this tick; resolves after its commit. */
  readonly inTick: <T>(run: () => T) => Promise<T>;
  readonly append: (lane: Lane, packets: readonly Packet[]) => void;
}
