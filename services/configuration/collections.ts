/** The documents of this service. */
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { HostCollector } from '@anneal/contracts/calls/hosts.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { UnexpectedAnswer } from '@anneal/contracts/calls/hosts.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Origin, TreePlace } from '@anneal/contracts/origin.ts';
import type { ResourceAction, ResourceResponse } from '@anneal/contracts/resource.ts';
import type { WithOutbox } from '@anneal/runtime/work/outbox.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { StoredContents, type WithContents } from './contents/stored-contents.ts';
import { every, wholeDocuments } from './contents/with-contents.ts';
import type { StoredConfig } from './configs/derive.ts';

export interface QueueDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly metadata: JsonObject;
  /** The sequence number of the next message. */
  readonly next: number;
  /** Bytes of all messages that it ever received. Absent when it received none since this count was introduced. */
  readonly bytes?: number;
  readonly host_id: string | null;
  /** True when each message is published as an event, for subscriptions. */
  readonly notifies?: boolean;
}

export interface MessageDocument extends WithContents {
  /** The id of its queue's document. */
  readonly queue: string;
  readonly sequence: number;
  /** Bytes that its queue had received before it. */
  readonly bytes_before?: number;
  /** Sealed values stay sealed here. */
  readonly body: Json;
  readonly client_id: string;
  readonly ttl: number;
  readonly created_at: number;
  readonly expires_at: number;
  /** Until then it can be neither claimed nor popped nor listed. Milliseconds. Absent for a message without a delay. */
  readonly delayed_until?: number;
  readonly claim_id: string | null;
  readonly claim_client: string | null;
  readonly claimed_at: number;
  readonly claim_expires_at: number;
  readonly claim_ttl: number;
  readonly claim_count: number;
  /** When a client first took it: by a claim, a pop or the host's own read. Milliseconds. Absent until then. */
  readonly taken_at?: number;
  /** When it became the first of its host, in milliseconds. Its limit for being taken counts from then. */
  readonly first_at?: number;
  /** In a responses queue: true when it was processed. Null in other queues. */
  readonly handled: boolean | null;
  /** The deployments that must complete before it is handed out. They were queued before it. Absent: none. */
  readonly after?: readonly DeploymentBefore[];
}

/** A deployment that must complete before another one begins, by the request for it. */
export interface DeploymentBefore {
  readonly id: string;
  readonly fence: number;
}

export interface HostDocument extends WithOutbox {
  readonly project: string;
  readonly name: string;
  /** `hostNameKey` of the name. Absent in documents of 0.1.0 until `keyEarlierNames` adds it. */
  readonly name_key?: string;
  readonly status: 'expected' | 'up' | 'silent' | 'deleting';
  readonly status_since: string;
  readonly token_hash: string;
  readonly token_sealed: JsonObject;
  readonly facts: JsonObject;
  /** The number of changes of the facts. Absent when they have not changed since this count was introduced. */
  readonly facts_version?: number;
  readonly created_at: string;
  readonly first_seen_at: string | null;
  readonly last_seen_at: string | null;
  /** The reboot that it does for a config. Absent when it does none. */
  readonly reboot?: PendingReboot;
  /** When its server was suspended. Absent for any other host. */
  readonly suspended_at?: string;
  /** True for a host that an operator joined. Absent for a host of a stack. */
  readonly joined?: boolean;
  /** The hash of the latest join token. */
  readonly join_hash?: string;
  readonly join_expires_at?: string;
  /** The hash of the key that the machine sent in its exchange. Absent until the exchange. */
  readonly join_key_hash?: string;
  /** The server of a stack that uses a joined host. */
  readonly taken_by?: string;
  /** The server that the host is in its stack. Absent without a stack, and for servers of older versions. */
  readonly collector?: HostCollector;
  /** Where that server is; the same. */
  readonly place?: TreePlace;
  /** Its credentials for the broker. `seen_at`: when it was last heard over the broker, in milliseconds; 0: never. */
  readonly broker?: { readonly hash: string; readonly issued_at: string; readonly seen_at: number };
  /** Answers that no run waits for: `unexpected.ts`. */
  readonly unexpected?: readonly UnexpectedAnswer[];
  readonly unexpected_total?: number;
}

/** A reboot that a host does for a config. Times are in the form of `Date.toISOString`. */
export interface PendingReboot {
  readonly run: string;
  readonly deployment_id: string;
  readonly deployment: string;
  readonly number: number;
  readonly since: string;
  readonly until: string;
  /** When its BMC was asked to reset it, because it was not back. */
  readonly reset_at?: string;
}

/** A deleted host, by the hash of its last token: its agent may still run a config, and must stop it. */
export interface DepartedHost extends Document {
  readonly name: string;
  /** Milliseconds. */
  readonly deleted_at: number;
}

/** The part of a request's envelope that its answers are made from. */
export type Requester = Envelope<null>;

/** A reboot of a host for a run. It is over when the host has reported that. */
export type RunReboot = Pick<PendingReboot, 'number' | 'since' | 'until' | 'reset_at'> & { readonly over: boolean };

export interface DeploymentState {
  readonly name: string;
  readonly host_id: string;
  readonly host_name: string;
  readonly group: string;
  readonly action: DeploymentView['action'];
  readonly status: DeploymentView['status'];
  readonly reason: string;
  /** The base config with the values of this deployment. Sealed values stay sealed. */
  readonly config: StoredConfig;
  readonly input_values: JsonObject;
  readonly actions: readonly string[];
  readonly waits_for_answer: boolean;
  /** As the template gives it. Absent for a deployment without this property. */
  readonly signal_transport?: string;
  /** Digest of the last successful run. A target with the same digest needs no run. */
  readonly applied: string | null;
  readonly digest: string;
  readonly depends_on: readonly string[];
  /** The unfinished deployments that it depends on. The request is not in the queue of the host before they are done. */
  readonly waiting_for: readonly string[];
  /**
   * The deployments that must complete first, of a request that came before they had. When `waiting_for` is empty, all of
   * them were in the same queue before it. Absent: none.
   */
  readonly after?: readonly DeploymentBefore[];
  /** The latest reboot of the host for this run. Absent before the first. */
  readonly reboot?: RunReboot;
  /** The request to the host. Null when there was nothing to do. */
  readonly request: HostRequest | null;
  readonly output_values: JsonObject;
  readonly status_code: number | null;
  /** Sealed when it contains a secret that the script was given. */
  readonly stdout: Json;
  readonly stderr: string;
  readonly created_at: string;
  readonly queued_at: string | null;
  /** When the host took the request. Absent until that is recorded: `acceptances.ts`. */
  readonly accepted_at?: string;
  /** True in documents of older versions, which recorded no time. */
  readonly accepted?: true;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** When it fails without an answer: the time limit of the stack's action, or that of the run once it has started. */
  readonly deadline: string | null;
  /** A collector (os-collect-config) received it, so later metadata repeats it. */
  readonly collected?: boolean;
  readonly failure: Failure | null;
  /** How far the host had come when the run ended without its answer. */
  readonly no_answer?: NonNullable<DeploymentView['answer_state']>;
}

export interface ConfigurationResource extends WithOutbox, WithContents {
  readonly project: string;
  readonly stack_id: string;
  readonly stack_name: string;
  readonly type: string;
  readonly name: string;
  readonly kind: 'config' | 'deployment' | 'queue server';
  /** The fence of the last accepted request. */
  readonly fence: number;
  readonly action: ResourceAction;
  readonly asker: Requester;
  /** Where it is, and who asked for the request; absent in documents of older versions. */
  readonly origin?: Origin;
  /** The highest fence of a request that the engine cancelled before it was taken here. Absent: none. */
  readonly cancelled?: number;
  /** The final response to that request. Null while the request is in progress. */
  readonly response: ResourceResponse | null;
  readonly config: StoredConfig | null;
  readonly deployment: DeploymentState | null;
  readonly status: DeploymentView['status'] | null;
  readonly host_id: string | null;
  /** The id of the current or most recent request to the host. */
  readonly run_id: string | null;
  /** The deployments that it waits for, in one value: `awaitedKey`. Absent when it has never waited. */
  readonly awaits?: string | null;
  /** `unwaitedKey`, while a run that the engine does not wait for has not ended. Absent in all other documents. */
  readonly unwaited?: string | null;
  /** The stored config that a deployment made by the API runs. Absent for the deployments of stacks. */
  readonly config_id?: string;
  /** The context whose config it runs. Absent for a deployment of a stack. */
  readonly parent?: string | null;
  /** For the run of a context's config: its version and config, and the request for the context that it began under. */
  readonly round?: { readonly key: string; readonly fence: number };
  /** When the service deletes it by itself, in milliseconds. Absent: never. */
  readonly forget_at?: number;
  /** Time of the delete, in milliseconds. The document is kept for a while, so that a late create is recognised. */
  readonly removed_at: number | null;
}

export interface ConfigurationCollections {
  readonly queues: Collection<QueueDocument>;
  readonly messages: Collection<MessageDocument>;
  readonly hosts: Collection<HostDocument>;
  readonly departed: Collection<DepartedHost>;
  readonly resources: Collection<ConfigurationResource>;
  readonly contents: StoredContents;
  /** Removes the long texts that no document names any more. */
  readonly sweepContents: (now: number) => Promise<number>;
}

/** The paths under which documents have configs and the values of inputs. */
const placesOfResource = [
  ['config'],
  ['deployment', 'config'],
  ['deployment', 'request', 'config'],
  ['deployment', 'request', 'inputs', every, 'value'],
  ['deployment', 'input_values', every],
];
const placesOfMessage = [
  ['body', 'config'],
  ['body', 'inputs', every, 'value'],
];
const withContents = { fields: ['has_contents'], only: { field: 'has_contents', is: true } } as const;

/**
 * The key by which an ended deployment finds those that wait for it: its own id, when they wait for nothing else, or one
 * key for all deployments of the stack that wait for several.
 */
export function awaitedKey(stackId: string, waitingFor: readonly string[]): string | null {
  const [only, ...rest] = waitingFor;
  return only === undefined ? null : rest.length === 0 ? only : `several:${stackId}`;
}

/** The keys of all deployments that may wait for this one. */
export const keysAwaiting = ({ id, stack_id }: ConfigurationResource): string[] => [id, `several:${stack_id}`];

/** The key by which a replacement finds the run that it replaces, of which the engine takes no notice. */
export const unwaitedKey = ({ stack_id, name }: Pick<ConfigurationResource, 'stack_id' | 'name'>): string =>
  `${stack_id}:${name}`;

/** Deployments that wait for their host. */
const unfinished = { field: 'status', is: 'IN_PROGRESS' } as const;

/** Paths that the list of hosts is searched and sorted by, beside those of indexes. */
export const listedHostPaths = ['collector.stack_name', 'collector.resource_name'] as const;

export async function openConfigurationCollections(store: Store): Promise<ConfigurationCollections> {
  const [queues, messages, hosts, departed, resources, contents] = await Promise.all([
    store.collection<QueueDocument>({
      name: 'configuration_queues',
      indexes: [{ fields: ['project', 'name'], unique: true }, { fields: ['host_id', 'project'] }],
    }),
    store.collection<MessageDocument>({
      name: 'configuration_messages',
      indexes: [
        { fields: ['queue', 'sequence'], unique: true },
        { fields: ['queue', 'claim_id', 'sequence'], only: { field: 'claim_id' } },
        { fields: ['expires_at'] },
        { fields: ['handled', 'sequence'], only: { field: 'handled', is: false } },
        withContents,
      ],
    }),
    store.collection<HostDocument>({
      name: 'configuration_hosts',
      listed: listedHostPaths,
      indexes: [
        { fields: ['token_hash'], unique: true },
        { fields: ['join_hash'], only: { field: 'join_hash' } },
        { fields: ['taken_by'], only: { field: 'taken_by' } },
        { fields: ['project', 'name', 'created_at'] },
        { fields: ['name_key', 'project'] },
        { fields: ['joined', 'project', 'name'], only: { field: 'joined' } },
        { fields: ['project', 'status', 'suspended_at'] },
        { fields: ['status', 'suspended_at'] },
        { fields: ['status', 'last_seen_at'] },
        // For the silent hosts of some stacks, or of one server.
        {
          fields: ['collector.stack_id', 'status', 'suspended_at', 'collector.resource_name'],
          only: { field: 'collector.stack_id' },
        },
        { fields: ['unsent'], only: { field: 'unsent', is: true } },
      ],
    }),
    store.collection<DepartedHost>({ name: 'configuration_departed', indexes: [{ fields: ['deleted_at'] }] }),
    store.collection<ConfigurationResource>({
      name: 'configuration_resources',
      indexes: [
        { fields: ['project', 'kind', 'host_id'] },
        { fields: ['project', 'kind', 'stack_id'] },
        { fields: ['status', 'host_id'], only: unfinished },
        { fields: ['status', 'removed_at'], only: { field: 'status', is: 'FAILED' } },
        { fields: ['awaits'], only: { field: 'awaits' } },
        { fields: ['unwaited'], only: { field: 'unwaited' } },
        { fields: ['run_id'], only: { field: 'run_id' } },
        { fields: ['config_id', 'project'], only: { field: 'config_id' } },
        { fields: ['unsent'], only: { field: 'unsent', is: true } },
        { fields: ['removed_at'], only: { field: 'removed_at' } },
        { fields: ['forget_at'], only: { field: 'forget_at' } },
        { fields: ['parent'], only: { field: 'parent' } },
        withContents,
      ],
    }),
    StoredContents.open(store),
  ]);
  return {
    queues,
    messages: wholeDocuments(messages, { contents, places: placesOfMessage }),
    hosts,
    departed,
    contents,
    resources: wholeDocuments(resources, { contents, places: placesOfResource }),
    sweepContents: (now) => contents.sweep([resources, messages], now),
  };
}
