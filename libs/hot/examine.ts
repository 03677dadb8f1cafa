/** A template looked at without a server: parameters may lack values, nested stacks are compiled. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import { compileBody, type CompileParameters } from './compile.ts';
import { readFront } from './front.ts';
import { Mistakes } from './mistakes.ts';
import { type Outline, outline } from './outline.ts';
import type { Body } from './tree.ts';

export interface Examined {
  readonly body: Body;
  readonly outline: Outline;
}

export function examine(options: CompileParameters): Examined | { readonly mistakes: Mistake[] } {
  const mistakes = new Mistakes();
  const front = readFront({ ...options, mistakes, missingAllowed: true });
  const body = front && compileBody({ ...options, front, mistakes });
  return body && !mistakes.any ? { body, outline: outline(body.plan) } : { mistakes: mistakes.all() };
}
