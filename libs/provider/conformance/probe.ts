/** Plays the engine towards a provider: sends requests to its queue, and collects the responses. */
import { setTimeout } from 'node:timers/promises';
import type { Bus, Consumer } from '@anneal/bus/port.ts';
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  requestDied,
  resourceCheck,
  resourceCreate,
  resourceDelete,
  resourceResponse,
  resourceUpdate,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import type { z } from 'zod';
import type { Request } from '../document.ts';

/** A resource that the probe creates. */
export interface SampleResource {
  readonly type: string;
  /** Properties of a creation that completes by itself. `{id}` in a text becomes another value for each resource. */
  readonly properties: JsonObject;
}

/** The bus and the queue by which the probe reaches the provider. */
export interface ProbeOptions {
  readonly bus: Bus;
  readonly mint: Mint;
  readonly newId: () => string;
  readonly now: () => number;
  /** The queue on which the provider takes requests. */
  readonly queue: string;
  readonly project: string;
  /** How long an answer may take, in milliseconds. */
  readonly withinMs: number;
}

/** A response of the provider, with its envelope. */
export type ProbeAnswer = Envelope<ResourceResponse>;

/** The part of a request that its sample does not hold. */
export interface ProbeRequestOptions {
  readonly fence?: number;
  /** Milliseconds from now; default: ten minutes. */
  readonly deadlineMs?: number;
  /** On an update: properties whose values differ. */
  readonly changed?: JsonObject;
  readonly physicalId?: string | null;
  /** All properties, in the place of those of the earlier request. */
  readonly properties?: JsonObject;
}

/** Attempts to remove the queue of the responses, and the pause between two, in milliseconds. */
const removals = 50;
/** The time of a resource to be deleted at the end. */
const cleanUpMs = 5_000;
const removalPauseMs = 200;

const plain = { create: resourceCreate, delete: resourceDelete, check: resourceCheck } as const;

/** Sends requests to one provider and keeps its answers. Close it, so that the queue of its responses is removed. */
export class Probe {
  readonly #options: ProbeOptions;
  readonly #replies: string;
  readonly #answers: ProbeAnswer[] = [];
  readonly #problems: string[] = [];
  readonly #sent = new Map<string, Request>();
  #news = Promise.withResolvers<void>();
  #consumer: Consumer | undefined;

  private constructor(options: ProbeOptions) {
    this.#options = options;
    this.#replies = `anneal.check.${options.newId()}.responses`;
  }

  static async open(options: ProbeOptions): Promise<Probe> {
    const probe = new Probe(options);
    probe.#consumer = await options.bus.consume(
      probe.#replies,
      ({ message }) => {
        probe.#take(message);
        return Promise.resolve();
      },
      {
        onDeath: ({ failure }) => {
          probe.#problem(`A response cannot be read: ${failure.message}`);
          return Promise.resolve();
        },
      },
    );
    return probe;
  }

  /** Makes the request for a new resource, or for the resource of an earlier request. Does not send it. */
  request(
    action: 'create' | 'update' | 'delete' | 'check',
    about: SampleResource | Request,
    wanted: ProbeRequestOptions = {},
  ): Request {
    const { mint, newId, now, project } = this.#options;
    const earlier = 'data' in about ? about.data : undefined;
    const id = earlier?.resource.id ?? newId();
    const before = earlier?.properties ?? {};
    const given = wanted.properties ?? ('data' in about ? undefined : about.properties);
    const properties = given ? filledIn(given, id.slice(-8)) : { ...before, ...wanted.changed };
    const type = 'data' in about ? about.data.resource.type : about.type;
    const name = `check-${id.slice(-8)}`;
    const fence = wanted.fence ?? (earlier?.fence ?? 0) + 1;
    const data: ResourceRequest = {
      resource: { id, name, type, physical_name: `check-${name}` },
      stack: { id: earlier?.stack.id ?? newId(), name: 'check' },
      traversal: newId(),
      fence,
      deadline: new Date(now() + (wanted.deadlineMs ?? 600_000)).toISOString(),
      physical_id: wanted.physicalId ?? earlier?.physical_id ?? null,
      properties,
      attributes: {},
    };
    const common = { id: `${id}:${fence}`, subject: id, project, replyto: this.#replies };
    if (action !== 'update') return mint(plain[action], { ...common, data });
    const changed = Object.keys(wanted.changed ?? {});
    return mint(resourceUpdate, { ...common, data: { ...data, old_properties: before, changed } });
  }

  /** Resolves when the broker has every copy. */
  async send(...requests: readonly Request[]): Promise<void> {
    for (const request of requests) this.#sent.set(request.data.resource.id, request);
    await this.#options.bus.send({ queue: this.#options.queue, messages: requests });
  }

  /** The answers to a request, in the order of their arrival. */
  answers(request: Request): ProbeAnswer[] {
    const { resource, fence } = request.data;
    return this.#answers.filter(({ data }) => data.resource_id === resource.id && data.fence === fence);
  }

  finals(request: Request): ProbeAnswer[] {
    return this.answers(request).filter(({ data }) => data.status !== 'in progress');
  }

  /** Waits for that many final answers; returns the last of them. @throws Error with the reason */
  async final(request: Request, { count = 1, withinMs = this.#options.withinMs } = {}): Promise<ProbeAnswer> {
    const { resource, fence } = request.data;
    const what = `${request.type} for ${resource.name} (fence ${fence})`;
    const last = (): ProbeAnswer | undefined => this.finals(request)[count - 1];
    await this.#until(
      () => last() !== undefined,
      withinMs,
      () => `${what}: ${this.finals(request).length} of ${count} final responses within ${withinMs} ms`,
    );
    return last() as ProbeAnswer;
  }

  /** Waits for a final answer. @throws Error when it is not `complete` */
  async complete(request: Request, options: { count?: number; withinMs?: number } = {}): Promise<ProbeAnswer> {
    const answer = await this.final(request, options);
    if (answer.data.status === 'complete') return answer;
    throw new Error(`${request.type} failed: ${answer.data.error?.message ?? 'without an error'}`);
  }

  /** Every request that was sent last for its resource. */
  latest(): Request[] {
    return [...this.#sent.values()];
  }

  /** Deletes the resources that it created, and closes its queue. */
  async close(): Promise<void> {
    for (const request of this.latest()) {
      if (request.type !== resourceDelete.type) await this.#delete(request).catch(() => undefined);
    }
    await this.#consumer?.stop();
    await this.#removeQueue();
  }

  /** A broker may count a consumer for a moment after it has stopped, and keeps a queue with consumers. */
  async #removeQueue(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#options.bus.queues.remove(this.#replies);
        return;
      } catch (error) {
        if (attempt === removals) throw error;
        await setTimeout(removalPauseMs);
      }
    }
  }

  async #delete(request: Request): Promise<void> {
    const physicalId = this.finals(request).at(-1)?.data.physical_id ?? null;
    const removal = this.request('delete', request, { physicalId });
    await this.send(removal);
    // No guarantee is checked any more, and a resource whose host is away is deleted when it returns.
    await this.final(removal, { withinMs: Math.min(this.#options.withinMs, cleanUpMs) });
  }

  #take(message: Envelope): void {
    if (message.type === resourceResponse.type) this.#answers.push(message as ProbeAnswer);
    else if (message.type === requestDied.type) {
      const { failure } = message.data as z.infer<typeof requestDied.data>;
      this.#problem(`A request became a dead letter: ${failure.message}`);
    } else this.#problem(`A message of type ${message.type} came in place of a response.`);
    this.#wake();
  }

  #problem(text: string): void {
    this.#problems.push(text);
    this.#wake();
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  async #until(holds: () => boolean, withinMs: number, what: () => string): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = globalThis.setTimeout(
      () => late.reject(new AnnealError('TimedOut', `Missing: ${what()}.`)),
      withinMs,
    );
    // Nothing waits for it once the condition holds.
    late.promise.catch(() => undefined);
    try {
      while (!holds()) {
        const problem = this.#problems.shift();
        if (problem !== undefined) throw new Error(problem);
        await Promise.race([this.#news.promise, late.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Puts the id in the place of `{id}`, so that two resources need not share a name. */
const filledIn = (properties: JsonObject, id: string): JsonObject =>
  JSON.parse(JSON.stringify(properties).replaceAll('{id}', id)) as JsonObject;
