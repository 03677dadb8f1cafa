/**
 * Runs small tasks in the service's thread, because handing one to a worker costs more than the task. A task that
 * exceeds the limits here is abandoned and runs again in a worker. Work is counted, so the same task always ends the
 * same way.
 */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { Abandoned, EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import type { CompiledContents } from './compile.ts';
import type { Sources } from './question.ts';
import { createTasks, type Task } from './task.ts';
import type { Json } from '@anneal/contracts/json.ts';

/** The limit for the texts of a task, in characters. Parsing and checking so many takes a few milliseconds. */
const mostCharacters = 16_384;
/** The limit of counted work: a few milliseconds. */
const mostWork = 20_000;

/** Returns undefined for a task that is not small. */
export function createInline(
  { blobs, secrets }: Sources,
  limits: EvaluationLimits,
): (task: Task) => Promise<CompiledContents<Json> | undefined> {
  const large = new Set<string>();
  const small: Sources = {
    secrets,
    blobs: {
      async getText(hash) {
        if (large.has(hash)) throw new Abandoned();
        const text = await blobs.getText(hash);
        if (text === undefined || text.length <= mostCharacters) return text;
        if (large.size >= 1000) large.clear();
        large.add(hash);
        throw new Abandoned();
      },
    },
  };
  const run = createTasks(small);
  return async (task) => {
    if (charactersOf(task.question) > mostCharacters) return undefined;
    try {
      return await run(task, new EvaluationWork(limits, { most: mostWork, whenSpent: 'abandon' }));
    } catch (error) {
      if (error instanceof Abandoned) return undefined;
      throw error;
    }
  };
}

/** Counts the characters of a question, and stops above the limit. */
function charactersOf(question: object): number {
  let count = 0;
  const rest: unknown[] = [question];
  while (rest.length > 0 && count <= mostCharacters) {
    const value = rest.pop();
    if (typeof value === 'string') count += value.length;
    else if (!holdsValues(value)) count += 4;
    else if (Array.isArray(value)) rest.push(...value.slice(0, mostCharacters));
    else
      for (const [key, item] of Object.entries(value)) {
        count += key.length;
        rest.push(item);
      }
  }
  return count;
}
