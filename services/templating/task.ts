/**
 * Compiles and validates user templates. The same code runs in a worker and, for small tasks, in the service's thread.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { CompileNestedQuestion, CompileQuestion, ValidateQuestion } from '@anneal/contracts/calls/templating.ts';
import type { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import { checkTemplate, compileAndStore, compileNestedAndStore, validateTemplate } from './compile.ts';
import { createNestedQuestions } from './nested-question.ts';
import { readQuestion, type Rules, type Sources } from './question.ts';

export type Task = Rules & {
  /** When the client asked. A nested stack ignores it, because its parent is accepted already. */
  readonly now: Date;
} & (
    | { readonly kind: 'compile'; readonly question: CompileQuestion }
    | { readonly kind: 'validate'; readonly question: ValidateQuestion }
    | { readonly kind: 'check'; readonly question: CompileQuestion }
    | { readonly kind: 'compile nested'; readonly question: CompileNestedQuestion }
  );

export function createTasks(sources: Sources): (task: Task, work: EvaluationWork) => Promise<Json> {
  const nested = createNestedQuestions(sources);
  return async (task, work) => {
    if (task.kind === 'compile nested') {
      return compileNestedAndStore({ ...(await nested.read(task.question, task)), work }, sources);
    }
    const read = await readQuestion(task.question, { ...task, ...sources });
    if (task.kind === 'compile') return compileAndStore({ ...read, work }, sources);
    if (task.kind === 'check') return checkTemplate({ ...read, work });
    return validateTemplate({ ...read, work, showNested: task.question.show_nested === true });
  };
}
