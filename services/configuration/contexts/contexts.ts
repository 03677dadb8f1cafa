/**
 * Contexts: facts that hosts publish, as one versioned map, and configs that run on every member for each version.
 *
 * A request for the context (its stack creates or updates it) reads the hosts at once, and is answered when every member
 * that is up has run the configs. Between requests a change of a host sets a time at which the hosts are read again, so
 * that several changes cause one version.
 *
 * G1 The version grows if and only if the data changes; version, data and the event that reports them are one write.
 * G2 The first change of a host sets the time of the next reading and later changes do not move it. A deleted host waits
 *    longer, because the stack that deleted it sends the new list of members soon.
 * G3 Every wake-up is harmless to repeat, and a durable timer repeats it while work is left, so a crash loses nothing.
 * G5 Between requests the engine sends other members as a signal. The newest signal of the newest request counts.
 * G4 While a member has never asked for work, there is no version: the first phase is not complete.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { json } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceRequest, resourceSignalSchema } from '@anneal/contracts/resource.ts';
import { draftOf, responseMessage, type Received, type Request } from '@anneal/provider/document.ts';
import { Provider, type Decision } from '@anneal/provider/provide.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { z } from 'zod';
import { flushOutbox, type Outgoing } from '@anneal/runtime/work/outbox.ts';
import { SingleFlight } from '@anneal/runtime/work/serial.ts';
import type { Draft } from '@anneal/store/port.ts';
import type { Timer } from '@anneal/store/timers.ts';
import type { NewRunContext } from '../deployments/requests/new-run.ts';
import { contextAttributes, changedEvent, settledEvent } from './announce.ts';
import { contextContent, nextData, noData, readMembers } from './data.ts';
import type { ContextCollections, ContextDocument, ContextSpec } from './document.ts';
import { cancelMemberRun, knownRuns, memberRunId, removeMemberRun, startMemberRun } from './member-run.ts';
import { planRound, type Round } from './round.ts';
import { readSpec } from './spec.ts';

export interface ContextsOptions {
  readonly context: NewRunContext;
  readonly stored: ContextCollections;
  /** How long further changes of the hosts are awaited after the first, in milliseconds. */
  readonly settleMs: number;
  /** The same after the deletion of a host. */
  readonly deletedMs: number;
}

/** The signal of the engine when a property that follows has changed. */
const followSignalSchema = z.object({ follows: z.object({ members: json }), sequence: z.number() });

const requestTimer = (id: string): string => `context:${id}`;
const refreshTimer = (id: string): string => `refresh:${id}`;
/** How often unfinished work is looked at again although nothing reported a change (G3). */
const lookMs = 30_000;
/** Runs that are started at the same time. */
const atOnce = 16;

export class Contexts {
  readonly #options: ContextsOptions;
  readonly #provider: Provider<ContextDocument>;
  readonly #flights: SingleFlight;

  constructor(options: ContextsOptions) {
    const { context, stored } = options;
    this.#options = options;
    this.#provider = new Provider<ContextDocument>({
      context: context.service,
      collection: stored.contexts,
      timers: context.timers,
      timerOf: ({ id }) => ({ id: requestTimer(id), data: null }),
      decide: (received) => this.#decide(received),
      work: (document) => this.#work(document),
      forgets: ({ action }) => action === 'delete',
    });
    this.#flights = new SingleFlight({
      run: (id) => this.#look(id),
      onError: (error, id) =>
        context.service.log.error({ err: error, context: id }, 'context not brought up to date; retrying in 1 s'),
    });
  }

  /** Takes a request of the engine. Safe under redelivery. */
  take(action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void> {
    return this.#provider.take(action, message);
  }

  /**
   * Takes other members between the updates of the stack, for example of a group that a policy scales. A repeat, and a
   * signal that is older than the newest request or signal, change nothing.
   * @throws AnnealError InvalidMessage for a signal that has no members
   */
  async follow({ data }: Envelope<z.infer<typeof resourceSignalSchema>>): Promise<void> {
    const { stored } = this.#options;
    const parsed = safeParseExact(followSignalSchema, data.signal);
    if (!parsed.success) throw new AnnealError('InvalidMessage', `The signal to ${data.resource.name} has no members.`);
    const { follows, sequence } = parsed.data;
    const { id } = data.resource;
    for (;;) {
      const document = await stored.contexts.get(id);
      if (!document || document.action === 'delete' || document.fence !== data.fence) return;
      const followed = document.followed ?? 0;
      if (sequence < followed) return;
      const members = readMembers(this.#options.context.service.secrets.open(follows.members));
      const spec = { ...document.spec, members };
      const draft = { ...draftOf(document), spec, followed: sequence, refresh_at: this.#now() };
      // A repeat completes what a crash interrupted.
      if (sequence > followed && !(await stored.contexts.replace(draft, document.version))) continue;
      await faultPoint('configuration.context.followed');
      await this.#enrol({ id, spec });
      await this.#refreshBy(id, this.#now());
      return;
    }
  }

  /** Continues the work on a context, because a run ended or a timer came due. */
  wake(id: string): void {
    this.#flights.kick(id);
  }

  /** Follows a change of a host: its contexts are brought up to date soon (G2). */
  async hostChanged(host: string, isDeleted: boolean): Promise<void> {
    const { stored, deletedMs, settleMs } = this.#options;
    const memberships = await stored.memberships.find({ where: { host } });
    const at = this.#now() + (isDeleted ? deletedMs : settleMs);
    for (const { context } of memberships) await this.#refreshBy(context, at);
  }

  owns({ id }: Timer): boolean {
    return id.startsWith(requestTimer('')) || id.startsWith(refreshTimer(''));
  }

  /** Handles a timer of a context. Resolves when the work is done, because the timer repeats it otherwise (G3). */
  fire({ id }: Timer): Promise<void> {
    return this.#look(id.slice(id.indexOf(':') + 1));
  }

  /** Continues what a crash interrupted. */
  async recover(): Promise<void> {
    const { stored, context } = this.#options;
    for (const phase of ['working', 'answering', 'done']) {
      for (const { id } of await stored.contexts.find({ where: { phase } })) this.wake(id);
    }
    for (const document of await stored.contexts.find({ where: { unsent: true } })) {
      await flushOutbox(context.service, stored.contexts, document);
    }
  }

  async stop(): Promise<void> {
    await this.#flights.stop();
    await this.#provider.stop();
  }

  #now(): number {
    return this.#options.context.queues.now();
  }

  async #decide({ action, message, known }: Received<ContextDocument>): Promise<Decision<ContextDocument>> {
    const { data } = message;
    if (action === 'check' && !known) {
      const text = `${data.resource.name} does not exist: there is no record of ${data.resource.id}.`;
      return { kind: 'failed', error: new AnnealError('NotFound', text), change: this.#base(message, known) };
    }
    if (action === 'create' || action === 'update') {
      try {
        const spec = await readSpec(this.#options.context, data);
        return { kind: 'waiting', ms: 0, physical_id: data.resource.id, change: this.#base(message, known, spec) };
      } catch (error) {
        if (!(error instanceof AnnealError) || error.kind !== 'final') throw error;
        return { kind: 'failed', error, change: this.#base(message, known) };
      }
    }
    const change = this.#base(message, known);
    return action === 'delete' ? { kind: 'waiting', ms: 0, change } : { kind: 'complete', change };
  }

  /** The document's own fields for a request. */
  #base(
    message: Request,
    known: ContextDocument | undefined,
    spec?: ContextSpec,
  ): Decision<ContextDocument>['change'] & object {
    const { resource, stack, origin } = message.data;
    return {
      project: message.project ?? '',
      stack_id: stack.id,
      stack_name: stack.name,
      name: resource.name,
      spec: spec ?? known?.spec ?? { members: [], facts: [], configs: [] },
      data: known?.data ?? noData,
      changed_at: known?.changed_at ?? null,
      settled: known?.settled ?? 0,
      settled_at: spec ? null : (known?.settled_at ?? null),
      failures: known?.failures ?? [],
      refresh_at: known?.refresh_at ?? null,
      asker: { ...message, data: null },
      ...(origin && { origin }),
      outbox: known?.outbox ?? [],
    };
  }

  /** Works on a request. */
  async #work(document: ContextDocument): Promise<Decision<ContextDocument>> {
    if (document.action === 'delete') return this.#delete(document);
    await this.#enrol(document);
    const absent = await this.#read(document);
    if (absent === 'changed') return { kind: 'waiting', ms: 0 };
    if (absent.length > 0) {
      return { kind: 'waiting', ms: lookMs, message: `Waits for ${listed(absent)} to ask for work` };
    }
    const round = await this.#runRound(document);
    if (round.pending.length > 0) {
      return {
        kind: 'waiting',
        ms: lookMs,
        message: `Version ${document.data.version} runs on ${listed(round.pending)}`,
      };
    }
    if (await this.#settle(document, round)) return { kind: 'waiting', ms: 0 };
    // The hosts were read just now.
    const change = { refresh_at: null };
    const failure = failureOf(document);
    if (failure) return { kind: 'failed', error: failure, change };
    return { kind: 'complete', physical_id: document.id, attributes: contextAttributes(document), change };
  }

  /** Looks at a context outside a message: between requests, or to continue one. */
  async #look(id: string): Promise<void> {
    const { stored, context } = this.#options;
    for (;;) {
      const document = await stored.contexts.get(id);
      if (!document) return;
      if (document.phase !== 'done') return this.#provider.wake(id);
      if (document.refresh_at !== null && document.refresh_at <= this.#now()) {
        if ((await this.#read(document)) === 'changed') continue;
        const cleared = { ...draftOf(document), refresh_at: null };
        if (!(await stored.contexts.replace(cleared, document.version))) continue;
        continue;
      }
      // The first version belongs to a request, which reports it (G4).
      if (document.data.version === 0) return;
      const round = await this.#runRound(document);
      if (round.pending.length > 0) {
        const dueAt = Math.min(this.#now() + lookMs, document.refresh_at ?? Infinity);
        await context.timers().set([{ id: refreshTimer(id), dueAt, data: null }]);
        return;
      }
      if (await this.#settle(document, round)) continue;
      if (document.refresh_at !== null) {
        await context.timers().set([{ id: refreshTimer(id), dueAt: document.refresh_at, data: null }]);
      }
      return;
    }
  }

  /** Reads the hosts. Returns the names of the members that have never asked for work, or that the data has changed. */
  async #read(document: ContextDocument): Promise<'changed' | string[]> {
    const { collections, service } = this.#options.context;
    const { contexts } = this.#options.stored;
    const hosts = await collections.hosts.getMany(document.spec.members.map(({ host }) => host));
    const absent = hosts.filter(({ status }) => status === 'expected').map(({ name }) => name);
    if (absent.length > 0) return absent;
    const data = nextData(document.data, contextContent(document.spec, hosts));
    if (!data) return [];
    const changed_at = service.now().toISOString();
    const draft: Draft<ContextDocument> = {
      ...draftOf(document),
      data,
      changed_at,
      refresh_at: null,
      settled_at: null,
    };
    const next = this.#telling(draft, changedEvent(service, { before: document, after: draft }), {
      message: `Version ${data.version} of the context: ${data.members.length} members`,
    });
    const saved = await contexts.replace(next, document.version);
    await faultPoint('configuration.context.changed');
    if (saved) await flushOutbox(service, contexts, saved);
    return 'changed';
  }

  /** Starts, replaces and removes runs until they are those of the current version. */
  async #runRound(document: ContextDocument): Promise<Round> {
    const { context } = this.#options;
    const { spec, data, fence } = document;
    const round = planRound({
      version: data.version,
      fence,
      members: data.members,
      configs: spec.configs,
      runs: await knownRuns(context, document.id),
      idOf: (config, host) => memberRunId(document.id, config, host),
    });
    for (const id of round.cancel) await cancelMemberRun(context, id);
    for (const id of round.remove) await removeMemberRun(context, id);
    for (let index = 0; index < round.start.length; index += atOnce) {
      const some = round.start.slice(index, index + atOnce);
      const started = await Promise.all(
        some.map(async ({ config: { name }, ...start }) => {
          const config = spec.configs.find((each) => each.name === name);
          return !config || startMemberRun(context, document, { ...start, config });
        }),
      );
      if (started.includes(false)) this.wake(document.id);
    }
    return round;
  }

  /** Records that all runs of the version have ended, once. True when the document changed. */
  async #settle(document: ContextDocument, { failures }: Round): Promise<boolean> {
    const { service } = this.#options.context;
    const { contexts } = this.#options.stored;
    if (document.settled_at !== null && sameFailures(document.failures, failures)) return false;
    const settled_at = service.now().toISOString();
    const draft: Draft<ContextDocument> = {
      ...draftOf(document),
      settled: document.data.version,
      settled_at,
      failures,
    };
    const next = this.#telling(draft, settledEvent(service, { document: draft, version: document.version + 1 }), {
      message: `Version ${document.data.version} of the context applied`,
      failure: failureOf(draft),
    });
    const saved = await contexts.replace(next, document.version);
    if (saved) await flushOutbox(service, contexts, saved);
    return true;
  }

  /** Adds an event, and between requests the new attributes for the engine, to the outbox. */
  #telling(
    draft: Draft<ContextDocument>,
    event: Envelope,
    { message, failure }: { message: string; failure?: Failure | undefined },
  ): Draft<ContextDocument> {
    const outbox: Outgoing[] = [...draft.outbox, { queue: null, message: event }];
    const { asker } = draft;
    if (draft.phase === 'done' && asker.replyto !== undefined) {
      const response = {
        resource_id: draft.id,
        stack_id: draft.stack_id,
        action: 'signal' as const,
        fence: draft.fence,
        attributes: contextAttributes(draft),
        ...(failure ? { status: 'failed' as const, error: failure } : { status: 'complete' as const, message }),
      };
      const answer = responseMessage(this.#options.context.service.mint, { asker, response, step: event.id });
      outbox.push({ queue: asker.replyto, message: answer });
    }
    return { ...draft, outbox, unsent: true };
  }

  /** Makes the memberships those of the spec, so that changes of its hosts are found. */
  async #enrol({ id, spec }: Pick<ContextDocument, 'id' | 'spec'>): Promise<void> {
    const { memberships } = this.#options.stored;
    const wanted = new Map(
      spec.members.map(({ host }) => [`${id}:${host}`, { id: `${id}:${host}`, context: id, host }]),
    );
    const there = await memberships.find({ where: { context: id } });
    for (const one of there) if (!wanted.delete(one.id)) await memberships.remove(one.id);
    if (wanted.size > 0) {
      await memberships.bulk([...wanted.values()].map((document) => ({ kind: 'put', document })));
    }
  }

  async #delete(document: ContextDocument): Promise<Decision<ContextDocument>> {
    const { context } = this.#options;
    await this.#enrol({ id: document.id, spec: { ...document.spec, members: [] } });
    for (const id of (await knownRuns(context, document.id)).keys()) {
      await cancelMemberRun(context, id);
      await removeMemberRun(context, id);
    }
    await context.timers().cancel([refreshTimer(document.id)]);
    return { kind: 'complete' };
  }

  /** Sets the time of the next reading, unless an earlier one is set. */
  async #refreshBy(id: string, at: number): Promise<void> {
    const { stored, context } = this.#options;
    for (;;) {
      const document = await stored.contexts.get(id);
      if (!document) return;
      const refresh_at = Math.min(document.refresh_at ?? Infinity, at);
      const isNew = refresh_at !== document.refresh_at;
      if (isNew && !(await stored.contexts.replace({ ...draftOf(document), refresh_at }, document.version))) continue;
      await context.timers().set([{ id: refreshTimer(id), dueAt: refresh_at, data: null }]);
      return;
    }
  }
}

const sameFailures = (before: ContextDocument['failures'], after: ContextDocument['failures']): boolean =>
  before.map(({ deployment_id }) => deployment_id).join() === after.map(({ deployment_id }) => deployment_id).join();

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

function failureOf({ name, data, failures }: Pick<ContextDocument, 'name' | 'data' | 'failures'>): Failure | undefined {
  const [first] = failures;
  if (!first) return undefined;
  const where = listed(failures.map(({ member }) => member));
  return {
    code: 'DeploymentFailed',
    message: `Context ${name}, version ${data.version}: ${first.config} failed on ${where}: ${first.reason}`,
    details: { failures: failures.slice(0, 10) },
  };
}
