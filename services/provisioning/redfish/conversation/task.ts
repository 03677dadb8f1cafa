/**
 * Tasks of a controller: the answer 202 to a request, read to its result.
 *
 * K1 A monitor may answer with a Task, with 202, with a redirect to the Task or to what was made (303, which the exchange
 *    follows), or with the final answer of the request, which may be a refusal.
 * K2 Controllers keep a short history, so a monitor that is gone has ended. The Task itself, where it is still known, has the
 *    outcome.
 */
import { BmcError } from '../../bmc/bmc-error.ts';
import { linkIn } from './links.ts';
import { reasonIn } from './messages.ts';
import { RedfishRefusal } from './refusal.ts';
import type { RedfishAnswer } from './transport.ts';

type Body = Readonly<Record<string, unknown>>;
interface Reader {
  get(path: string, what?: string): Promise<RedfishAnswer>;
}

/** Where a task is read. */
export interface TaskPlaces {
  readonly monitor: string;
  /** The Task, where the answer names it beside the monitor. */
  readonly task: string | undefined;
}

export type TaskOutcome =
  | { readonly kind: 'running'; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'done'; readonly answer: RedfishAnswer | undefined }
  | { readonly kind: 'failed'; readonly why: string };

const failedStates = new Set(['exception', 'killed', 'cancelled', 'canceled']);
const doneStates = new Set(['completed', 'completedwithwarnings']);
const running = { kind: 'running', retryAfterMs: undefined } as const;
const isTask = (body: Body): boolean => String(body['@odata.type']).startsWith('#Task.');
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Where the task of an answer is read. Undefined when the request is done. */
export function placesOf({ status, location, body }: RedfishAnswer): TaskPlaces | undefined {
  if (status !== 202 && !isTask(body)) return undefined;
  const task = linkIn(body);
  const monitor = location ?? textOf(body['TaskMonitor']) ?? task;
  return monitor === undefined ? undefined : { monitor, task: task === monitor ? undefined : task };
}

/** The path of the task that carries out a request. Undefined when the request is done. */
export const taskOf = (answer: RedfishAnswer): string | undefined => placesOf(answer)?.monitor;

/** The outcome that one answer of a task or its monitor shows. */
export function outcomeIn(answer: RedfishAnswer): TaskOutcome {
  const { status, body, retryAfterMs } = answer;
  const goesOn: TaskOutcome = { kind: 'running', retryAfterMs };
  if (!('TaskState' in body)) return status === 202 || isTask(body) ? goesOn : { kind: 'done', answer };
  const state = String(body['TaskState']).toLowerCase();
  if (failedStates.has(state))
    return { kind: 'failed', why: `ended as ${String(body['TaskState'])}: ${reasonIn(body)}` };
  // `Interrupted` and words that the standard does not have may be followed by others.
  return doneStates.has(state) ? { kind: 'done', answer } : goesOn;
}

/**
 * Reads a task once.
 * @throws BmcError when the controller does not answer, is busy, or refuses the credentials
 */
export async function readBmcTask(reader: Reader, { monitor, task }: TaskPlaces): Promise<TaskOutcome> {
  try {
    return outcomeIn(await reader.get(monitor, 'the monitor of a task'));
  } catch (error) {
    const status = statusOf(error);
    if (status === 404 || status === 410)
      return task === undefined
        ? { kind: 'done', answer: undefined }
        : readBmcTask(reader, { monitor: task, task: undefined });
    if (!(error instanceof RedfishRefusal) || error.code !== 'BmcRefused' || isBusy(error)) throw error;
    return { kind: 'failed', why: `ended with the answer ${error.answer.status}: ${error.reason}` };
  }
}

/** Reads a task that may be busy or away for a moment, in which it goes on. */
export async function readPatiently(reader: Reader, places: TaskPlaces): Promise<TaskOutcome> {
  try {
    return await readBmcTask(reader, places);
  } catch (error) {
    if (error instanceof BmcError && (error.code === 'BmcUnreachable' || isBusy(error))) return running;
    throw error;
  }
}

const statusOf = (error: unknown): number | undefined =>
  error instanceof RedfishRefusal ? error.answer.status : undefined;
const isBusy = (error: BmcError): boolean => error.repeat === 'always';
