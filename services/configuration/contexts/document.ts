/** The documents of contexts. */
import type { ContextData, ContextFailure } from '@anneal/contracts/calls/context.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Origin } from '@anneal/contracts/origin.ts';
import type { WorkingDocument } from '@anneal/provider/provide.ts';
import type { WithOutbox } from '@anneal/runtime/work/outbox.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { Requester } from '../collections.ts';
import type { StoredConfig } from '../configs/derive.ts';
import type { MemberSpec } from './data.ts';
import type { RoundConfig } from './round.ts';

export interface ContextConfig extends RoundConfig {
  readonly config: StoredConfig;
  /** Sealed values stay sealed. */
  readonly values: JsonObject;
}

export interface ContextSpec {
  readonly members: readonly MemberSpec[];
  /** Names of the chosen facts. */
  readonly facts: readonly string[];
  readonly configs: readonly ContextConfig[];
}

export interface ContextDocument extends WorkingDocument, WithOutbox {
  readonly unsent: boolean;
  readonly project: string;
  readonly stack_id: string;
  readonly stack_name: string;
  readonly name: string;
  readonly spec: ContextSpec;
  /** The sequence of the last signal with other members, under this fence. Absent: none. */
  readonly followed?: number;
  readonly data: ContextData;
  readonly changed_at: string | null;
  /** The version whose configs have run on every member that is up. 0 before the first one. */
  readonly settled: number;
  readonly settled_at: string | null;
  readonly failures: readonly ContextFailure[];
  /** When the data is read from the hosts again, in milliseconds; null while nothing has changed. */
  readonly refresh_at: number | null;
  /** The last request, from which unrequested responses are made. */
  readonly asker: Requester;
  /** Where it is, and who asked for that request; absent in documents of older versions. */
  readonly origin?: Origin;
}

/** Finds the contexts of a host. */
export interface MembershipDocument extends Document {
  readonly context: string;
  readonly host: string;
}

export interface ContextCollections {
  readonly contexts: Collection<ContextDocument>;
  readonly memberships: Collection<MembershipDocument>;
}

export async function openContexts(store: Store): Promise<ContextCollections> {
  const [contexts, memberships] = await Promise.all([
    store.collection<ContextDocument>({
      name: 'configuration_contexts',
      indexes: [
        { fields: ['project', 'name'] },
        { fields: ['project', 'stack_id'] },
        { fields: ['phase'] },
        { fields: ['unsent'], only: { field: 'unsent', is: true } },
      ],
    }),
    store.collection<MembershipDocument>({
      name: 'configuration_context_members',
      indexes: [{ fields: ['host'] }, { fields: ['context'] }],
    }),
  ]);
  return { contexts, memberships };
}
