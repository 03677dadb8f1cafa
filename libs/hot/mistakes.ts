/** Collects every mistake of an input, each with its position, so that one answer reports all of them. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { distance } from 'fastest-levenshtein';

/** A mistake before its file is known. */
export interface MistakeDraft {
  readonly code: string;
  readonly message: string;
  readonly path: string;
  readonly at: PlanSource | undefined;
  readonly expected?: string | undefined;
  readonly found?: string | undefined;
  readonly nearest?: string | undefined;
}

/** Shown in place of a value that an error must not quote. */
export const hiddenValue = '******';

/** Code of a mistake: an expression reads a parameter that the template does not declare. */
export const unknownParameter = 'UnknownParameter';

/** A longer list helps no reader, and a hostile input must not make an answer larger than itself. */
const most = 200;

/** The mistakes and warnings of one input, in the order in which they were found: at most 200 of each. */
export class Mistakes {
  readonly #list: Mistake[] = [];
  readonly #warnings: Mistake[] = [];

  add(draft: MistakeDraft): void {
    if (this.#list.length < most) this.#list.push(written(draft));
  }

  /** Reports input that is valid but probably not intended. A warning refuses nothing. */
  warn(draft: MistakeDraft): void {
    if (this.#warnings.length < most) this.#warnings.push(written(draft));
  }

  get any(): boolean {
    return this.#list.length > 0;
  }

  get count(): number {
    return this.#list.length;
  }

  all(): Mistake[] {
    return [...this.#list];
  }

  warnings(): Mistake[] {
    return [...this.#warnings];
  }
}

function written({ at, code, message, path, expected, found, nearest }: MistakeDraft): Mistake {
  return {
    code,
    message,
    path,
    ...(at?.file !== undefined && { file: at.file }),
    ...(at && { line: at.line, column: at.column }),
    ...(expected !== undefined && { expected }),
    ...(found !== undefined && { found }),
    ...(nearest !== undefined && { nearest }),
  };
}

/** Limits the cost of comparing thousands of wrong names with thousands of known ones. */
const mostLooked = 1000;

/** Finds the known name that was probably meant; undefined when none is near. Long names cost little. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > 200) return undefined;
  let looked = 0;
  const allowed = Math.max(1, Math.floor(name.length / 3));
  let best: string | undefined;
  let least = allowed + 1;
  const lower = name.toLowerCase();
  for (const candidate of known) {
    if (++looked > mostLooked) break;
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const steps = candidate.toLowerCase() === lower ? 0 : distance(name, candidate);
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** Lists names for `expected`: enough to choose from, at most 20. */
export function listed(names: Iterable<string>): string {
  const all = [...names];
  return all.length <= 20 ? all.join(', ') : `${all.slice(0, 20).join(', ')} and ${all.length - 20} more`;
}

/** The path of a part. */
export function join(path: string, part: string | number): string {
  return path === '' ? String(part) : `${path}.${part}`;
}
