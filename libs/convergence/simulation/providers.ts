/** Simulated providers: they are slow, fail, lie, and answer twice, late or never. */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { PendingRequest, ResourceDocument } from '../documents.ts';
import type { Books } from './checks/ledger.ts';
import { successResponse, type Random } from './model.ts';
import { outputOf } from './values.ts';

/** How badly providers, the broker and processes behave. */
export interface Temper {
  /** Percent of requests that go wrong in some way. */
  fails: number;
  /** Percent of messages that come twice. */
  twice: number;
  /** Percent of fault points at which the process dies. */
  dies: number;
  /** Percent of requests that conflict with other work; never so often in a row that the engine gives up. */
  busy: number;
}

/** Nothing goes wrong. */
export const kind: Temper = { fails: 0, twice: 0, dies: 0, busy: 0 };

/** Few values cannot be applied by a provider that answers at once. */
const failsAtOnce = ({ action, properties }: PendingRequest): boolean =>
  (action === 'create' || action === 'update') && Number(properties['value']) % 50 === 7;

/** The world of a provider. */
export interface ProviderWorld {
  readonly random: Random;
  readonly books: Books;
  readonly temper: () => Temper;
  /** Runs the rest of a request after the delay. */
  readonly later: (delay: number, run: () => void) => void;
  /** Delivers the response to the resource's stack after the delay. */
  readonly say: (response: ResourceResponse, delay: number) => void;
}

/** Serves the type `Latest` in place of the simulated providers. */
export interface LatestProvider {
  /** Handles a request, also a duplicate. */
  serve(resource: ResourceDocument): void;
  /** Ends the request with this fence if its work has not begun. */
  withdraw(resource: ResourceDocument, fence: number): void;
  /** Stops the work on the request with this fence, which then fails. */
  cancel(resource: ResourceDocument, fence: number): void;
}

/** The world of a provider that keeps time, and whose process may die. */
export interface TimedProviderWorld extends ProviderWorld {
  readonly now: () => number;
  /** True when the process dies here. */
  readonly dies: () => boolean;
}

/** Serves requests on the objects in the ledger and sends the responses. */
export class SimulatedProviders {
  /** Set by scripts: every request fails; every check finds drift; nothing but a deletion is answered. */
  failing = false;
  drifting = false;
  silent = false;
  private readonly fences = new Map<string, number>();
  private readonly answers = new Map<string, ResourceResponse>();
  private readonly around: ProviderWorld;

  constructor(around: ProviderWorld) {
    this.around = around;
  }

  /** Answers requests of type `Instant` within the step, and does nothing else: the step may not count. */
  answerAtOnce(resource: ResourceDocument, drawn: string): ResourceResponse | undefined {
    const { request } = resource;
    if (resource.type !== 'Instant' || !request) return undefined;
    const answer = successResponse(resource);
    if (failsAtOnce(request)) {
      const { attributes: _, ...bare } = answer;
      return { ...bare, status: 'failed', error: { code: 'ResourceFailed', message: 'broken' } };
    }
    const isDrawn = request.action === 'create' && Number(request.properties['kind']) % 2 === 1;
    return isDrawn ? { ...answer, attributes: outputOf(resource.id, request.properties, drawn) } : answer;
  }

  /** Notes what an answer at once has made, once its step counts. */
  haveAnswered(resource: ResourceDocument, drawn: string): void {
    const { request, id } = resource;
    if (!request || failsAtOnce(request)) return;
    this.around.books.apply(resource, request.action, { fence: request.fence, whole: true });
    if (request.action === 'create') this.around.books.drawn.set(id, drawn);
  }

  /** Handles a signal: the attributes of the resource change, even while a request runs. */
  signal(resource: ResourceDocument, fence: number): void {
    const { random, say } = this.around;
    const { id: resource_id, stack_id } = resource;
    const attributes = outputOf(resource_id, { value: random(5), from: null });
    say({ resource_id, stack_id, action: 'signal', fence, status: 'complete', attributes }, random(100));
  }

  /** Stops the work on the request with this fence, which then fails. What it has done may stay, in part. */
  cancel(resource: ResourceDocument, fence: number): void {
    const { request, id } = resource;
    if (!request || request.fence !== fence || (this.fences.get(id) ?? 0) > fence) return;
    if (this.answers.get(id)?.fence === fence) return;
    this.fences.set(id, fence);
    const { attributes: _, ...bare } = successResponse(resource);
    const answer = { ...bare, status: 'failed', error: { code: 'Superseded', message: 'cancelled' } } as const;
    this.answers.set(id, answer);
    this.around.say(answer, this.around.random(1000));
  }

  /** Ends the request with this fence if its work has not begun, which is decided by chance. */
  withdraw(resource: ResourceDocument, fence: number): void {
    if (this.around.random(2) === 0) this.cancel(resource, fence);
  }

  /** Handles a request, also a duplicate. */
  serve(resource: ResourceDocument): void {
    const { random, say } = this.around;
    const request = resource.request;
    if (!request || (this.fences.get(resource.id) ?? 0) > request.fence) return;
    if (this.fences.get(resource.id) === request.fence) {
      const last = this.answers.get(resource.id);
      if (last && last.fence === request.fence) say(last, random(100));
      return;
    }
    this.fences.set(resource.id, request.fence);
    if (this.silent && request.action !== 'delete') return;
    this.inTurn(resource, request);
  }

  /** Begins a request after those that it names have completed. Fails it when one of them has failed. */
  private inTurn(resource: ResourceDocument, request: PendingRequest): void {
    const { fence } = request;
    if (this.fences.get(resource.id) !== fence || this.answers.get(resource.id)?.fence === fence) return;
    const before = (request.after ?? []).map(({ id, fence: least }) => {
      const answer = this.answers.get(id);
      return answer && answer.fence >= least && answer.fence === this.fences.get(id) ? answer.status : 'in progress';
    });
    if (before.includes('failed')) {
      const { attributes: _, ...bare } = successResponse(resource);
      const answer = { ...bare, status: 'failed', error: { code: 'Skipped', message: 'not begun' } } as const;
      this.answers.set(resource.id, answer);
      this.around.say(answer, this.around.random(1000));
    } else if (before.includes('in progress')) this.around.later(300, () => this.inTurn(resource, request));
    else this.perform(resource, request);
  }

  private perform(resource: ResourceDocument, request: PendingRequest): void {
    const { random, say, books } = this.around;
    const chance = (percent: number): boolean => random(100) < percent;
    const good = successResponse(resource);
    const { attributes: _, ...bare } = good;
    const failed = { ...bare, status: 'failed', error: { code: 'ResourceFailed', message: 'no' } } as const;
    const fate = this.failing ? 60 : chance(this.around.temper().fails) ? random(100) : 100;
    const settle = (response: ResourceResponse): void => {
      this.answers.set(resource.id, response);
      say(response, random(1000));
    };
    if (chance(20)) say({ ...bare, status: 'in progress', message: 'at it' }, random(100));
    const { fence, action } = request;
    const looks = action !== 'create' && action !== 'update' && action !== 'delete';
    const gone = { code: 'NotFound', message: 'gone' };
    const conflict = { code: 'Conflict', message: 'busy' };
    if (request.attempts < 3 && chance(this.around.temper().busy)) {
      settle({
        ...bare,
        status: 'failed',
        error: random(2) ? conflict : { ...conflict, code: 'Other', details: { retryable: true } },
      });
    } else if (looks && !resource.external && !books.physical.has(resource.id)) {
      settle({ ...failed, error: gone });
    } else if (this.drifting && action === 'check') {
      settle({ ...good, drift: [{ property: 'value', expected: 1, actual: -1 }] });
    } else if (fate < 20) {
      // Other work was in progress.
      settle({ ...bare, status: 'failed', error: conflict });
    } else if (fate < 40 && action === 'update') {
      settle({ ...failed, replace: true });
    } else if (fate < 40 && action === 'check') {
      const drift = [{ property: 'value', expected: request.properties['value'] ?? null, actual: -1 }];
      settle(
        (
          [
            { ...good, drift },
            { ...failed, drift },
          ] as const
        )[random(3)] ?? { ...failed, error: gone },
      );
    } else if (fate < 70) {
      // A failed request may be executed in part.
      if (chance(50) && action !== 'delete') books.apply(resource, action, { fence, whole: false });
      settle(failed);
    } else if (fate < 85) {
      // The request may be executed, but is never answered.
      if (chance(50)) books.apply(resource, action, { fence, whole: true });
    } else if (resource.type === 'Latest') {
      this.workUnlessReplaced(resource, { good, settle });
    } else {
      books.apply(resource, action, { fence, whole: true });
      settle(good);
      // A duplicate response, much later.
      if (fate < 100) say(good, random(9000));
    }
  }

  /** Takes its time for a request. A newer one stops the work, which may then be done in part, and is not answered. */
  private workUnlessReplaced(
    resource: ResourceDocument,
    { good, settle }: { good: ResourceResponse; settle: (response: ResourceResponse) => void },
  ): void {
    const { random, books, later } = this.around;
    const { action, fence } = good;
    if (action === 'signal' || action === 'cancel') return;
    const applies = action === 'create' || action === 'update';
    if (applies && random(2) === 0) books.apply(resource, action, { fence, whole: false });
    later(random(3000), () => {
      if (this.fences.get(resource.id) !== fence || this.answers.get(resource.id)?.fence === fence) return;
      books.apply(resource, action, { fence, whole: true });
      settle(good);
    });
  }
}
