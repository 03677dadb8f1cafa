/**
 * The agent of the simulated host: it claims batches, runs one script at a time, keeps a journal, and answers with its
 * next claim. Its calls and their answers get lost.
 */
import { stoppedReason, type HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { must } from '@anneal/convergence/simulation/checks/ledger.ts';
import type { TimedProviderWorld } from '@anneal/convergence/simulation/providers.ts';
import { simulatedHost, type QueuedRequest, type RunServer } from './run-server.ts';

const mostAtOnce = 3;

/** Runs what the server hands out. */
export class RunAgent {
  readonly #world: TimedProviderWorld;
  readonly #server: RunServer;
  /** The answers of all scripts that began; undefined while one runs. */
  readonly #journal = new Map<string, HostResponse | undefined>();
  #running: QueuedRequest | undefined;
  #batch: QueuedRequest[] = [];
  #unsent: HostResponse[] = [];
  #isWoken = false;

  constructor(world: TimedProviderWorld, server: RunServer) {
    this.#world = world;
    this.#server = server;
  }

  /** Works from now on whenever the server wakes it. */
  listen(): void {
    const server = this.#server;
    server.wake = () => this.#wake(this.#world.random(200));
    server.hostDeleted = () => {
      this.#running = undefined;
      this.#batch = [];
      this.#unsent = [];
    };
  }

  #wake(delay: number): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#world.later(delay, () => {
      this.#isWoken = false;
      this.#look();
    });
  }

  #look(): void {
    const { id } = this.#running ?? {};
    if (id === undefined) this.#next();
    else if (this.#server.mustStop(id)) this.#end(id, { status_code: 143, error: stoppedReason });
  }

  #isLost(): boolean {
    return this.#world.random(100) < this.#world.temper().twice / 2;
  }

  /** Begins the next script of the batch, or claims. */
  #next(): void {
    const next = this.#batch.shift();
    if (next) this.#begin(next);
    else if (this.#isLost()) this.#wake(1000);
    else this.#claim();
  }

  #claim(): void {
    const answers = this.#unsent;
    let claimed: QueuedRequest[] | undefined;
    this.#server.deliver(() => {
      for (const response of answers) {
        const { id } = response;
        const ended = this.#server.take(id, { kind: 'answered', host: simulatedHost, response });
        if (!ended) this.#server.finished(id);
      }
      claimed = this.#server.claim(1 + this.#world.random(mostAtOnce));
    });
    // The answer of the server is lost, or its process died: the host has its answers still, and calls again.
    if (claimed === undefined || this.#isLost()) {
      this.#wake(1000);
      return;
    }
    this.#unsent = this.#unsent.filter((each) => !answers.includes(each));
    this.#batch = claimed;
    if (claimed.length > 0) this.#next();
  }

  #begin(request: QueuedRequest): void {
    const { id } = request;
    if (this.#journal.has(id)) {
      const answer = this.#journal.get(id);
      must(answer !== undefined, `${id} is handed out while another script runs`);
      this.#unsent.push(answer);
      this.#wake(0);
      return;
    }
    const hasSucceeded = (run: string): boolean => this.#journal.get(run)?.status_code === 0;
    must(this.#server.mustStop(id) || this.#server.comesInTurn(request, hasSucceeded), `${id} begins before its turn`);
    this.#journal.set(id, undefined);
    this.#running = request;
    if (this.#world.random(2) === 0) this.#reportStart(id);
    const { fails } = this.#world.temper();
    // A script that hangs ends at its limit.
    if (this.#world.random(400) < fails) return;
    this.#world.later(this.#world.random(4000), () => {
      if (this.#running?.id === id) this.#finish(id);
    });
  }

  #reportStart(id: string): void {
    const progress = { id, progress: 'started' } as const;
    this.#server.deliver(() => {
      this.#server.take(id, { kind: 'started', host: simulatedHost, progress });
    });
  }

  #finish(id: string): void {
    if (this.#server.mustStop(id)) {
      this.#end(id, { status_code: 143, error: stoppedReason });
      return;
    }
    const resource = this.#server.requestedBy(id);
    const { request } = resource;
    const fails = this.#world.random(300) < this.#world.temper().fails;
    if (!request) return;
    const { action, fence } = request;
    // The engine may have released an object whose deletion the host had begun.
    const isReleased = action === 'delete' && this.#world.books.released.has(resource.id);
    if (!isReleased && (!fails || action !== 'delete'))
      this.#world.books.apply(resource, action, { fence, whole: !fails });
    this.#end(id, { status_code: fails ? 1 : 0 });
  }

  #end(id: string, how: Pick<HostResponse, 'status_code' | 'error'>): void {
    const answer: HostResponse = { id, stdout: '', stderr: '', truncated: false, outputs: {}, ...how };
    this.#journal.set(id, answer);
    this.#running = undefined;
    this.#unsent.push(answer);
    // After a failure, the host claims the others of the batch again, so that the server can withdraw them.
    if (how.status_code !== 0) this.#batch = [];
    this.#next();
  }
}
