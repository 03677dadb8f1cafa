/** Requests for servers, their work and their answers. Its promises: `libs/provider/provide.ts`. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { storedProperty } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceUpdate } from '@anneal/contracts/resource.ts';
import type { Received, Request } from '@anneal/provider/document.ts';
import { Provider, type Decision } from '@anneal/provider/provide.ts';
import { isSecret, openProperties } from '@anneal/runtime/secrets/open.ts';
import { redaction } from '@anneal/runtime/secrets/redact.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Timers } from '@anneal/store/timers.ts';
import { provisioningTimers } from '../documents/timers.ts';
import { readHints } from '@anneal/hot/types/scheduler-hints.ts';
import { adoptedHostOf, objectOf, serversDefinition, textOf, type ServerDocument } from './document.ts';
import { hostnameOf, nameProblem } from './hostname.ts';

export type ServerDecision = Decision<ServerDocument>;
export type ServerWork = (server: ServerDocument, request: Request) => Promise<ServerDecision>;

export interface ServersOptions {
  readonly context: ServiceContext;
  readonly timers: () => Timers;
  /** Works on a request according to its resource type and action. */
  readonly work: ServerWork;
}

/** Longer than one attempt, which makes a few calls to a controller. */
const guardMs = 60_000;

export class Servers {
  readonly #options: ServersOptions;
  readonly #collection: Collection<ServerDocument>;
  readonly #provider: Provider<ServerDocument>;

  private constructor(options: ServersOptions, collection: Collection<ServerDocument>) {
    this.#options = options;
    this.#collection = collection;
    this.#provider = new Provider<ServerDocument>({
      context: options.context,
      collection,
      timers: options.timers,
      timerOf: ({ id }) => provisioningTimers.stored({ kind: 'server', server: id }),
      decide: (received) => Promise.resolve(this.#decide(received)),
      work: (server, request) => this.#work(server, request),
      guardMs,
    });
  }

  static async open(options: ServersOptions): Promise<Servers> {
    return new Servers(options, await options.context.store.collection<ServerDocument>(serversDefinition));
  }

  get(id: string): Promise<ServerDocument | undefined> {
    return this.#collection.get(id);
  }

  kick(id: string): void {
    void this.#provider.wake(id);
  }

  /** Wakes waiting servers when a node becomes free, the longest-waiting first. */
  async kickWaiting(): Promise<void> {
    for (const server of await this.#collection.find({ where: { phase: 'working' }, orderBy: ['created_at'] })) {
      if (server.action === 'create') this.kick(server.id);
    }
  }

  async resumeAll(): Promise<void> {
    const unfinished = await this.#collection.find({ where: { phase: { in: ['working', 'answering'] } } });
    for (const { id } of unfinished) this.kick(id);
  }

  stop(): Promise<void> {
    return this.#provider.stop();
  }

  take(action: ResourceAction, request: Request): Promise<void> {
    return this.#provider.take(action, request);
  }

  /** Withdraws a request: `Provider.withdraw`. */
  withdraw(request: Request, delivery: { readonly last: boolean }): Promise<void> {
    return this.#provider.withdraw(request, delivery);
  }

  /** All work takes time, so a request is recorded first. */
  #decide({ action, message, known }: Received<ServerDocument>): ServerDecision {
    const { resource, properties, attributes } = message.data;
    const { type, physical_name: physicalName } = resource;
    const wanted = openProperties(this.#options.context.secrets, properties);
    const hinted = action === 'create' ? readHints(objectOf(wanted, 'scheduler_hints')).group : undefined;
    const group = hinted ?? known?.group;
    const adopted = known?.adopted_host ?? adoptedHostOf(message.data);
    return {
      kind: 'waiting',
      ms: 0,
      change: {
        type,
        // The name of a host stays, although the server's name may change.
        hostname: known?.hostname ?? hostnameOf({ type, name: textOf(wanted, 'name'), physicalName }),
        project: message.project ?? known?.project ?? '',
        attributes: known?.attributes ?? attributes,
        ...(group !== undefined && { group }),
        ...(adopted !== undefined && { adopted_host: adopted }),
        failed_nodes: [],
        created_at: this.#options.context.now().toISOString(),
      },
    };
  }

  async #work(server: ServerDocument, request: Request): Promise<ServerDecision> {
    const error = this.#refusal(server, request);
    if (error) return { kind: 'failed', error };
    const progress = await this.#options.work(server, request);
    if (progress.kind !== 'complete' || !progress.attributes) return progress;
    return { ...progress, change: { attributes: progress.attributes } };
  }
  /** Refuses a new name that is not valid, which the engine may not know before the value is worked out. */
  #refusal({ type, action }: ServerDocument, { data }: Request): AnnealError | undefined {
    const isNew = action === 'create' || (action === 'update' && (data as ResourceUpdate).changed.includes('name'));
    const given = storedProperty(data.properties, 'name');
    if (!isNew || given === undefined) return undefined;
    const { secrets } = this.#options.context;
    const name = textOf(openProperties(secrets, data.properties), 'name');
    const problem = nameProblem({ type, name });
    if (problem === undefined) return undefined;
    const shown = isSecret(secrets, given) ? redaction : JSON.stringify(name);
    const text = `Property name of ${data.resource.name} is ${shown}: ${problem}.`;
    return new AnnealError('InvalidRequest', text);
  }
}
