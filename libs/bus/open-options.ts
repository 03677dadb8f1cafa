/** The options with which a bus and its broker are opened. */
import type { Definition } from '@anneal/contracts/define.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Store } from '@anneal/store/port.ts';
import type { BusLog } from './bus-log.ts';

/** The part of the keys that a bus needs. */
export interface QuestionSeals {
  seal(data: Json): JsonObject;
  /** Whether the value itself is a seal that can be opened. */
  isSealed(data: Json | undefined): boolean;
  open<T extends Json>(data: T): T;
}

/** The broker to connect to, and the means that a bus needs besides it. */
export interface OpenBusOptions {
  url: string;
  /** The name of this process at the broker, e.g. `anneal/scheduling`. */
  source: string;
  /** Holds data that is too large to travel. */
  store: Store;
  /**
   * The same store over separate connections, on which the processes of a broker show that they are alive: work that
   * waits for the store must not delay that. Default: `store`.
   */
  presence?: Store | undefined;
  registry: ReadonlyMap<string, Definition>;
  newId: () => string;
  now: () => Date;
  log: BusLog;
  /** Seals and opens the data of questions that may quote secrets. Absent: they travel as they are. */
  sealing?: QuestionSeals | undefined;
  /** How long the data of a large message is kept after the message was handled. */
  claimCheckMs?: number | undefined;
}

/** The part of the options that an adapter needs. */
export type OpenBrokerOptions = Pick<OpenBusOptions, 'url' | 'source' | 'newId' | 'now' | 'log'>;
