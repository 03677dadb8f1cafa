/** Tasks of a controller, read to their result. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { httpReason, linkIn } from './http.ts';
import type { RedfishAnswer } from './transport.ts';

type Body = Readonly<Record<string, unknown>>;

const failedStates = ['Exception', 'Killed', 'Cancelled', 'Interrupted'];
const endedStates = ['Completed', 'CompletedWithWarnings', ...failedStates];

/** The path of the task that carries out a request. Undefined when the request is done. */
export const taskOf = (answer: RedfishAnswer): string | undefined =>
  answer.status === 202 ? (answer.location ?? linkIn(answer.body)) : undefined;

/**
 * Reads a task, or the monitor of one, once. A missing task has ended: controllers keep a short history.
 * @throws the error that `refused` makes, when the task has failed.
 */
export async function taskEnded(
  client: { get(path: string): Promise<RedfishAnswer> },
  path: string,
  refused: (why: string) => AnnealError,
): Promise<boolean> {
  let answer: RedfishAnswer;
  try {
    answer = await client.get(path);
  } catch (error) {
    if (error instanceof AnnealError && error.details?.['status'] === 404) return true;
    throw error;
  }
  const { TaskState: state, Messages: messages } = answer.body;
  if (failedStates.some((failed) => failed === state)) {
    const [first] = Array.isArray(messages) ? (messages as (Body | null)[]) : [];
    const why = httpReason({ error: { message: first?.['Message'] } });
    throw refused(`the task ${path} ended as ${String(state)}: ${why}`);
  }
  if (state === undefined) return answer.status !== 202;
  return endedStates.some((ended) => ended === state);
}
