/**
 * Requests for servers, and their answers.
 *
 * V1 A request is in its document before any work for it. A repeat finds it there and changes nothing.
 * V2 When there are two requests for one resource, the one with the higher fence counts. The lower one is dropped, and
 *    its claimed node is released.
 * V3 An answer is in the document before it is sent, with an id derived from the request. After a crash it is resent.
 */
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import {
  resourceResponse,
  type ResourceAction,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { DuplicateError, type Collection, type Draft } from '@anneal/store/port.ts';
import type { Timers } from '@anneal/store/timers.ts';
import { hostnameOf } from './hostname.ts';
import { asObject, requestOf, responseOf, serversDefinition, textOf, type ServerDocument } from './document.ts';
import { SingleFlight } from '../nodes/single-flight.ts';

/** The current progress of a request. */
export type Progress =
  | {
      readonly kind: 'complete';
      readonly physical_id: string;
      readonly attributes?: ResourceResponse['attributes'];
      readonly drift?: ResourceResponse['drift'];
    }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly replace?: boolean;
      readonly drift?: ResourceResponse['drift'];
    }
  /** Wait for an event or for `ms`, whichever comes first. `physical_id`: the object exists but is not complete. */
  | {
      readonly kind: 'waiting';
      readonly message: string;
      readonly ms: number;
      readonly error?: unknown;
      readonly physical_id?: string;
    };

export type Work = (server: ServerDocument, request: Envelope<ResourceRequest>) => Promise<Progress>;

export interface ServersOptions {
  readonly context: ServiceContext;
  readonly timers: () => Timers;
  /** Works on a request according to its resource type and action. */
  readonly work: (server: ServerDocument, request: Envelope<ResourceRequest>) => Promise<Progress>;
}

export const timerOfServer = (id: string): string => `server:${id}`;
const watchMs = 60_000;

export class Servers {
  readonly #options: ServersOptions;
  readonly #collection: Collection<ServerDocument>;
  readonly #flights: SingleFlight;

  private constructor(options: ServersOptions, collection: Collection<ServerDocument>) {
    this.#options = options;
    this.#collection = collection;
    this.#flights = new SingleFlight({
      run: (id) => this.#drive(id),
      onError: (error, id) =>
        options.context.log.error({ err: error, server: id }, 'a server could not be driven; it is tried again'),
    });
  }

  static async open(options: ServersOptions): Promise<Servers> {
    return new Servers(options, await options.context.store.collection<ServerDocument>(serversDefinition));
  }

  get(id: string): Promise<ServerDocument | undefined> {
    return this.#collection.get(id);
  }

  kick(id: string): void {
    this.#flights.kick(id);
  }

  /** Wakes waiting servers when a node becomes free, the longest-waiting first. */
  async kickWaiting(): Promise<void> {
    for (const server of await this.#collection.find({ where: { phase: 'working' }, orderBy: ['created_at'] })) {
      if (server.action === 'create') this.kick(server.id);
    }
  }

  async resumeAll(): Promise<void> {
    for (const server of await this.#collection.find({ where: { phase: { in: ['working', 'answering'] } } }))
      this.kick(server.id);
  }

  stop(): Promise<void> {
    return this.#flights.stop();
  }

  /** V1, V2. */
  async take(action: ResourceAction, request: Envelope<ResourceRequest>): Promise<void> {
    const { resource, fence } = request.data;
    if (request.replyto === undefined) {
      throw new AnnealError(
        'InvalidMessage',
        `A ${request.type} for ${resource.name} says no queue for the answer (replyto).`,
      );
    }
    for (;;) {
      const known = await this.#collection.get(resource.id);
      if (known && known.fence > fence) return;
      if (known && known.fence === fence) {
        if (known.phase === 'done') await this.#send(known);
        else this.kick(known.id);
        return;
      }
      if (await this.#record(action, request, known)) break;
    }
    await faultPoint('provisioning.request.recorded');
    this.kick(resource.id);
  }

  async #record(
    action: ResourceAction,
    request: Envelope<ResourceRequest>,
    known: ServerDocument | undefined,
  ): Promise<boolean> {
    const { resource, fence, properties, attributes } = request.data;
    const wanted = this.#options.context.secrets.open(properties);
    const draft: Draft<ServerDocument> = {
      id: resource.id,
      type: resource.type,
      fence,
      action,
      phase: 'working',
      request: asObject(request),
      // The name of a host stays, although the server's name may change.
      hostname: known?.hostname ?? hostnameOf(textOf(wanted, 'name'), resource.physical_name),
      project: request.project ?? known?.project ?? '',
      attributes: known?.attributes ?? attributes,
      attempts: 0,
      created_at: this.#options.context.now().toISOString(),
      last_error: null,
      said: '',
      said_count: 0,
      response: null,
    };
    if (known) return (await this.#collection.replace(draft, known.version)) !== undefined;
    try {
      await this.#collection.insert(draft);
      return true;
    } catch (error) {
      if (error instanceof DuplicateError) return false;
      throw error;
    }
  }

  async #drive(id: string): Promise<void> {
    const server = await this.#collection.get(id);
    if (!server || server.phase === 'done') return;
    if (server.phase === 'answering') return this.#finish(server);
    const request = requestOf(server);
    const now = this.#options.context.now().getTime();
    const deadline = Date.parse(request.data.deadline);
    await this.#setTimer(id, now + watchMs);

    let progress: Progress;
    try {
      progress = await this.#options.work(server, request);
    } catch (error) {
      if (this.#flights.stopping) return;
      const retry = !(error instanceof AnnealError) || error.kind === 'retry';
      const pause = Math.min(30_000, 250 * 2 ** Math.min(server.attempts, 7)) * (0.75 + Math.random() / 2);
      progress = retry
        ? { kind: 'waiting', message: toFailure(error).message, ms: pause, error }
        : { kind: 'failed', error };
    }
    if (progress.kind === 'waiting' && this.#options.context.now().getTime() >= deadline) {
      progress = { kind: 'failed', error: tooLate(progress, request.data.deadline) };
    }
    if (progress.kind === 'waiting') await this.#wait(server, progress, deadline);
    else await this.#answer(server, progress);
  }

  async #wait(
    server: ServerDocument,
    progress: Extract<Progress, { kind: 'waiting' }>,
    deadline: number,
  ): Promise<void> {
    const now = this.#options.context.now().getTime();
    const news = progress.message !== server.said;
    const next = Math.min(now + progress.ms, deadline);
    const waiting = await this.#change(server, {
      attempts: server.attempts + 1,
      last_error: progress.error === undefined ? null : toFailure(progress.error),
      said: progress.message,
      said_count: server.said_count + (news ? 1 : 0),
    });
    // The write lost to a newer request or to a change of the node, so check the server again.
    if (!waiting) return this.kick(server.id);
    if (news) {
      const { id } = requestOf(server);
      await this.#reply(waiting, `${id}:in progress:${waiting.said_count}`, {
        status: 'in progress',
        message: progress.message.slice(0, 4096),
        ...(progress.physical_id !== undefined && { physical_id: progress.physical_id }),
      });
    }
    await this.#setTimer(server.id, next);
  }

  async #answer(server: ServerDocument, progress: Exclude<Progress, { kind: 'waiting' }>): Promise<void> {
    const { resource, stack, fence } = requestOf(server).data;
    const common = {
      resource_id: resource.id,
      stack_id: stack.id,
      action: server.action,
      fence,
      ...(progress.drift && { drift: progress.drift }),
    };
    const response: ResourceResponse =
      progress.kind === 'complete'
        ? {
            ...common,
            status: 'complete',
            physical_id: progress.physical_id,
            ...(progress.attributes && { attributes: progress.attributes }),
          }
        : {
            ...common,
            status: 'failed',
            error: toFailure(progress.error),
            ...(progress.replace !== undefined && { replace: progress.replace }),
          };
    const decided = await this.#change(server, {
      phase: 'answering',
      response: asObject(response),
      ...(response.attributes && { attributes: response.attributes }),
    });
    if (!decided) return this.kick(server.id);
    await faultPoint('provisioning.answer.recorded');
    await this.#finish(decided);
  }

  /** V3. */
  async #finish(server: ServerDocument): Promise<void> {
    await this.#send(server);
    await this.#change(server, { phase: 'done' });
    await this.#options.timers().cancel([timerOfServer(server.id)]);
  }

  async #send(server: ServerDocument): Promise<void> {
    const response = responseOf(server);
    if (response) await this.#reply(server, `${requestOf(server).id}:${response.status}`, response);
  }

  async #reply(
    server: ServerDocument,
    id: string,
    response: Partial<ResourceResponse> & Pick<ResourceResponse, 'status'>,
  ): Promise<void> {
    const request = requestOf(server);
    const { resource, stack, fence } = request.data;
    const { bus, mint } = this.#options.context;
    const data = { resource_id: resource.id, stack_id: stack.id, action: server.action, fence, ...response };
    await bus.send({
      queue: request.replyto ?? '',
      messages: [mint(resourceResponse, { id, data, subject: stack.id, cause: request })],
    });
  }

  #change(server: ServerDocument, change: Partial<Draft<ServerDocument>>): Promise<ServerDocument | undefined> {
    const { version, ...draft } = server;
    return this.#collection.replace({ ...draft, ...change }, version);
  }

  #setTimer(id: string, dueAt: number): Promise<void> {
    return this.#options.timers().set([{ id: timerOfServer(id), dueAt, data: { server: id } }]);
  }
}

function tooLate(progress: Extract<Progress, { kind: 'waiting' }>, deadline: string): AnnealError {
  const message = `It was to be done by ${deadline}. ${progress.message}`;
  const { error } = progress;
  return error instanceof AnnealError
    ? new AnnealError(error.code, message, { cause: error, ...(error.details && { details: { ...error.details } }) })
    : new AnnealError('DeadlineExceeded', message, { cause: error });
}
