/**
 * Compiles and validates user templates. The same code runs in a worker and, for small tasks, in the service's thread.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { CompileNestedQuestion, CompileQuestion, ValidateQuestion } from '@anneal/contracts/calls/templating.ts';
import { TemplateLibrary } from '@anneal/hot/tree/library.ts';
import type { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import {
  checkTemplate,
  type CompiledContents,
  compileNestedTemplate,
  compileTemplate,
  validateTemplate,
} from './compile.ts';
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

/**
 * A task for a worker, which keeps the types: they are many times larger than most questions. The question is JSON, because
 * a copy of its objects would lose the form of numbers and the order of keys.
 */
export type RemoteTask = Omit<Task, 'types' | 'question'> & { readonly types: string; readonly question: string };

/** Runs tasks. It writes nothing: the caller stores the contents of a plan before it answers. */
export function createTasks(sources: Sources): (task: Task, work: EvaluationWork) => Promise<CompiledContents<Json>> {
  const nested = createNestedQuestions(sources);
  return async (task, work) => {
    if (task.kind === 'compile nested') {
      return compileNestedTemplate({ ...(await nested.read(task.question, task)), work }, sources);
    }
    const read = await readQuestion(task.question, { ...task, ...sources });
    if (task.kind === 'compile') {
      const { files = {} } = read;
      const library = new TemplateLibrary(files);
      const { environment, ...compiled } = await compileTemplate({ ...read, library, work }, sources);
      nested.know(compiled.answer, { environment, files, library });
      return compiled;
    }
    if (task.kind === 'check') return { answer: checkTemplate({ ...read, work }), contents: [] };
    const answer = validateTemplate({ ...read, work, showNested: task.question.show_nested === true });
    return { answer, contents: [] };
  };
}
