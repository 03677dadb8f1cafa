/** The events of the catalogue as one type that a check of `type` narrows. Only types: it costs nothing at run time. */
import type { EventDefinition } from './define.ts';
import type { Envelope } from './envelope.ts';
import type * as events from './events.ts';
import type * as groupEvents from './group-events.ts';

type Module = typeof events & typeof groupEvents;
type Definitions<T> =
  T extends EventDefinition<unknown>
    ? T
    : T extends Readonly<Record<string, EventDefinition<unknown>>>
      ? T[keyof T]
      : never;
/** These only wake clients and services, and are not stored. */
type Fleeting = 'queue.filled' | 'event.kept' | 'bmc.reported';
type Stored = Exclude<Definitions<Module[keyof Module]>, { readonly type: Fleeting }>;

/** The data of each type of event. */
export type EventDataByType = {
  [D in Stored as D['type']]: D extends EventDefinition<infer T> ? T : never;
};

/** The names of all types of events. */
export type EventType = keyof EventDataByType;

/** An event of one type, or of any. A check of `type` also determines the type of `data`. */
export type EventOf<N extends EventType = EventType> = {
  [Own in N]: Omit<Envelope<EventDataByType[Own]>, 'type'> & { type: Own };
}[N];
