/**
 * The conversation with one controller during one turn: each change is followed to its end, whichever form the controller
 * gives to its answer.
 *
 * V1 A change that the controller has accepted is not sent again while its task runs, also by a later turn of this process.
 * V2 A change whose task fails has failed, with the messages of the task.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { redactText } from '@anneal/runtime/secrets/redact.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { BmcError } from '../../bmc/bmc-error.ts';
import { changeDocument } from './change-document.ts';
import { RequestForm, type BmcChange } from './form.ts';
import type { RedfishHttp, Sending } from './http.ts';
import { RedfishRefusal } from './refusal.ts';
import type { SentChange } from './running-tasks.ts';
import { outcomeIn, placesOf, readPatiently, type TaskOutcome, type TaskPlaces } from './task.ts';
import type { Access, RedfishAnswer } from './transport.ts';

export interface ConversationOptions {
  readonly access: Access;
  readonly signal: AbortSignal;
  readonly tries?: number | undefined;
}

/** Refusals that may be about the form of a request. */
const formRefusals: ReadonlySet<number> = new Set([400, 422]);
const firstLookMs = 100;
const longestLookMs = 5_000;

export class Conversation {
  readonly #http: RedfishHttp;
  readonly #options: ConversationOptions;

  constructor(http: RedfishHttp, options: ConversationOptions) {
    this.#http = http;
    this.#options = options;
  }

  get = (path: string, what?: string): Promise<RedfishAnswer> => this.#send({ method: 'GET', path, what });

  /** Sends a change, and returns the first answer, which may name a task (`taskOf`). */
  begin = async (change: BmcChange): Promise<RedfishAnswer> => {
    const { tasks } = this.#http;
    const sent = this.#sent(change);
    const earlier = tasks.find(sent, Date.now());
    // V1
    if (earlier && (await readPatiently(this, earlier)).kind === 'running') return accepted(earlier);
    tasks.forget(sent);
    const answer = await this.#inForm(change);
    const places = placesOf(answer);
    if (places) tasks.note(sent, places, Date.now());
    return answer;
  };

  /** Sends a change and follows it to its end. @throws BmcError when it is refused, or its task fails */
  carryOut = async (change: BmcChange): Promise<RedfishAnswer> => {
    // V1: an earlier turn ended before the task.
    const earlier = this.#http.tasks.find(this.#sent(change), Date.now());
    if (earlier) return this.#followed(change, accepted(earlier), earlier);
    const answer = await this.begin(change);
    const places = placesOf(answer);
    return places ? this.#followed(change, answer, places) : answer;
  };

  patch = (path: string, body: unknown, etag?: string): Promise<RedfishAnswer> =>
    this.carryOut({ method: 'PATCH', path, body, etag });

  /** Sends a change in the form that the controller demands. */
  async #inForm(change: BmcChange): Promise<RedfishAnswer> {
    const { method, body: given, form } = change;
    if (!form || !isObject(given)) return this.#changed(change);
    const request = new RequestForm(given, form);
    for (;;) {
      try {
        return await this.#changed({ ...change, body: request.body });
      } catch (error) {
        if (!(error instanceof RedfishRefusal) || !formRefusals.has(error.answer.status)) throw error;
        const next = request.reform(error.answer.body);
        if (next.kind === 'refused') throw error;
        if (next.kind === 'lacks') throw this.#unable(`${method} ${change.path}`, next.names, error);
      }
    }
  }

  async #changed(change: BmcChange): Promise<RedfishAnswer> {
    if (change.method === 'PATCH') return this.#patched(change);
    try {
      return await this.#send(change);
    } catch (error) {
      const isGone = error instanceof RedfishRefusal && [404, 410].includes(error.answer.status);
      // An earlier request, whose answer was lost, may have deleted it.
      if (change.method === 'DELETE' && isGone) return { ...error.answer, status: 204, body: {} };
      throw error;
    }
  }

  async #followed(change: BmcChange, first: RedfishAnswer, places: TaskPlaces): Promise<RedfishAnswer> {
    const { signal } = this.#options;
    const task = `${places.monitor} of ${change.method} ${change.path}`;
    // The answer 202 may show a Task that has ended already.
    let outcome: TaskOutcome = outcomeIn(first);
    for (let pause = firstLookMs; outcome.kind === 'running'; pause = Math.min(1_000, pause * 1.5)) {
      try {
        await sleep(Math.min(outcome.retryAfterMs ?? pause, longestLookMs), undefined, { signal });
        outcome = await readPatiently(this, places);
      } catch (error) {
        throw signal.reason instanceof BmcError ? this.#failed(task, 'has not ended in time') : error;
      }
    }
    this.#http.tasks.forget(this.#sent(change));
    if (outcome.kind === 'failed') throw this.#failed(task, outcome.why);
    return outcome.answer ?? first;
  }

  #patched({ path, body, etag, what }: BmcChange): Promise<RedfishAnswer> {
    const patch = (at: string, wanted: unknown, tag?: string): Promise<RedfishAnswer> =>
      this.#send({ method: 'PATCH', path: at, body: wanted, etag: tag, what });
    return changeDocument({ get: this.get, patch }, { path, body, etag });
  }

  /** The same request would be refused again. */
  #unable(change: string, names: readonly string[], cause: RedfishRefusal): AnnealError {
    const { node, address } = this.#options.access;
    return new AnnealError(
      'ResourceFailed',
      `The BMC of node ${node} at ${address} demands ${names.join(', ')} for ${change}, for which Anneal has no fitting value. It answered ${cause.answer.status}: ${cause.reason}`,
      { cause, details: { node, url: address } },
    );
  }

  #send({
    method,
    path,
    body,
    etag,
    what,
  }: Pick<Sending, 'method' | 'path' | 'body' | 'etag' | 'what'>): Promise<RedfishAnswer> {
    const { access, signal, tries } = this.#options;
    return this.#http.send(access, { method, path, body, etag, what, signal, tries });
  }

  #sent({ method, path, body }: BmcChange): SentChange {
    return { address: this.#options.access.address, method, path, body };
  }

  #failed(task: string, why: string): BmcError {
    const { node, address, password } = this.#options.access;
    const words = redactText(why, [password ?? '']);
    return new BmcError('BmcRefused', `The BMC of node ${node} at ${address}: the task ${task} ${words}`, {
      repeat: 'never',
      details: { node, url: address },
    });
  }
}

/** The answer to a change whose task already runs. */
const accepted = ({ monitor, task }: TaskPlaces): RedfishAnswer => ({
  status: 202,
  body: task === undefined ? {} : { '@odata.id': task },
  problem: undefined,
  etag: undefined,
  location: monitor,
  retryAfterMs: undefined,
  token: undefined,
});
