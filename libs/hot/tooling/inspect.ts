/** Examines a template without a server: parameters may lack values, and nested stacks are compiled. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import { compileBody } from '../compile.ts';
import type { CompileParameters } from '../tree/compile-parameters.ts';
import { readFront } from '../tree/prepare.ts';
import { Mistakes } from '../mistakes.ts';
import { withinWork, EvaluationWork } from '../evaluate/work.ts';
import { type Outline, outline } from './outline.ts';
import type { Body } from '../tree/tree.ts';

/** A template without mistakes, and its order of work. */
export interface Examined {
  readonly body: Body;
  readonly outline: Outline;
  readonly warnings: Mistake[];
}

/** Examines a template, or reports its mistakes. */
export function examine({
  limits,
  work = new EvaluationWork(limits),
  ...given
}: CompileParameters): Examined | { readonly mistakes: Mistake[] } {
  const options = { ...given, work };
  const mistakes = new Mistakes();
  const body = withinWork(mistakes, () => {
    const front = readFront({ ...options, mistakes, missingAllowed: true });
    return front && compileBody({ ...options, front, mistakes });
  });
  return body && !mistakes.any
    ? { body, outline: outline(body.plan), warnings: mistakes.warnings() }
    : { mistakes: mistakes.all() };
}
