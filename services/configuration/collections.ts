/** What this service keeps. */
import type { DeploymentView } from '@anneal/contracts/configuration.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import type { HostRequest, UnexpectedAnswer } from '@anneal/contracts/configuration.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceResponse } from '@anneal/contracts/resource.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { StoredConfig } from './derive.ts';

/** Something that a document says must be sent. It is kept with the state that it tells of until it is sent. */
export interface Outgoing {
  /** Null: an event. */
  readonly queue: string | null;
  readonly message: Envelope;
}
export interface WithOutbox extends Document {
  readonly outbox: readonly Outgoing[];
  /** True while the outbox holds something; the index by which a restart finds it. */
  readonly unsent: boolean;
}

export interface QueueDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly metadata: JsonObject;
  /** The sequence number of the next message. */
  readonly next: number;
  /** How many bytes of messages it has ever taken; absent of one that has taken none since these are counted. */
  readonly bytes?: number;
  readonly host_id: string | null;
}

export interface MessageDocument extends Document {
  /** The id of its queue's document. */
  readonly queue: string;
  readonly sequence: number;
  /** How many bytes its queue had taken before it. */
  readonly bytes_before?: number;
  /** Sealed values stay sealed here. */
  readonly body: Json;
  readonly client_id: string;
  readonly ttl: number;
  readonly created_at: number;
  readonly expires_at: number;
  readonly claim_id: string | null;
  readonly claim_client: string | null;
  readonly claimed_at: number;
  readonly claim_expires_at: number;
  readonly claim_ttl: number;
  readonly claim_count: number;
  /** When a client first took it. Milliseconds; absent until then. */
  readonly taken_at?: number;
  /** In a responses queue: whether it was acted on. Null elsewhere. */
  readonly handled: boolean | null;
}

export interface HostDocument extends WithOutbox {
  readonly project: string;
  readonly name: string;
  readonly status: 'expected' | 'up' | 'silent' | 'deleting';
  readonly status_since: string;
  readonly token_hash: string;
  readonly token_sealed: JsonObject;
  readonly facts: JsonObject;
  readonly created_at: string;
  readonly first_seen_at: string | null;
  readonly last_seen_at: string | null;
  /** Answers that no run waits for: `unexpected.ts`. */
  readonly unexpected?: readonly UnexpectedAnswer[];
  readonly unexpected_total?: number;
}

/** The part of a request's envelope that its answers are made from. */
export type Asker = Envelope<null>;

export interface DeploymentState {
  readonly name: string;
  readonly host_id: string;
  readonly host_name: string;
  readonly group: string;
  readonly action: DeploymentView['action'];
  readonly status: DeploymentView['status'];
  readonly reason: string;
  /** The base config and the values that this deployment gives; sealed values stay sealed. */
  readonly config: StoredConfig;
  readonly input_values: JsonObject;
  readonly actions: readonly string[];
  readonly waits_for_answer: boolean;
  /** What the last successful run was made from: the same again needs no run. */
  readonly applied: string | null;
  readonly digest: string;
  readonly depends_on: readonly string[];
  /** Those of `depends_on` that are not done yet; it is not offered to the host before. */
  readonly waiting_for: readonly string[];
  /** What the host is asked; null where nothing was to do. */
  readonly request: HostRequest | null;
  readonly output_values: JsonObject;
  readonly status_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly created_at: string;
  readonly queued_at: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** When it fails without an answer: the time limit of the stack's action, once it runs that of the run. */
  readonly deadline: string | null;
  /** A client that only pops its queue (os-collect-config) received it: its later messages repeat it. */
  readonly collected?: boolean;
  readonly failure: Failure | null;
}

export interface ResourceDocument extends WithOutbox {
  readonly project: string;
  readonly stack_id: string;
  readonly stack_name: string;
  readonly type: string;
  readonly name: string;
  readonly kind: 'config' | 'deployment' | 'queue server';
  /** Of the last request that was taken. */
  readonly fence: number;
  readonly action: ResourceAction;
  readonly asker: Asker;
  /** The last word on that request; null while it is worked on. */
  readonly response: ResourceResponse | null;
  readonly config: StoredConfig | null;
  readonly deployment: DeploymentState | null;
  readonly status: DeploymentView['status'] | null;
  readonly host_id: string | null;
  /** The id of the request that the host works on, or worked on last. */
  readonly run_id: string | null;
  /** Kept for a while after the delete, so that a late create is still known to be late. Milliseconds. */
  readonly removed_at: number | null;
}

export interface Collections {
  readonly queues: Collection<QueueDocument>;
  readonly messages: Collection<MessageDocument>;
  readonly hosts: Collection<HostDocument>;
  readonly resources: Collection<ResourceDocument>;
}

export async function openCollections(store: Store): Promise<Collections> {
  const [queues, messages, hosts, resources] = await Promise.all([
    store.collection<QueueDocument>({
      name: 'configuration_queues',
      indexes: [{ fields: ['project', 'name'], unique: true }, { fields: ['host_id', 'project'] }],
    }),
    store.collection<MessageDocument>({
      name: 'configuration_messages',
      indexes: [
        { fields: ['queue', 'sequence'], unique: true },
        { fields: ['queue', 'claim_id', 'sequence'] },
        { fields: ['expires_at'] },
        { fields: ['handled', 'sequence'] },
      ],
    }),
    store.collection<HostDocument>({
      name: 'configuration_hosts',
      indexes: [
        { fields: ['token_hash'], unique: true },
        { fields: ['project', 'name', 'created_at'] },
        { fields: ['status'] },
        { fields: ['unsent'] },
      ],
    }),
    store.collection<ResourceDocument>({
      name: 'configuration_resources',
      indexes: [
        { fields: ['project', 'kind', 'host_id'] },
        { fields: ['project', 'kind', 'stack_id'] },
        { fields: ['stack_id', 'status'] },
        { fields: ['host_id', 'status'] },
        { fields: ['status'] },
        { fields: ['run_id'] },
        { fields: ['unsent'] },
        { fields: ['removed_at'] },
      ],
    }),
  ]);
  return { queues, messages, hosts, resources };
}
