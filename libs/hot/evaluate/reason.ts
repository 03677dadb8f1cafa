/**
 * The reason of a failed evaluation. It states apart what it quotes: a value of the template's data is masked where it
 * is hidden, and the words of the reason are always shown. A part counts as quoted unless the code says otherwise.
 */
import { hiddenValue } from '../mistakes.ts';

/** A reason with its quoted values, and the same reason without them. */
export class Reason {
  readonly full: string;
  readonly masked: string;

  constructor(full: string, masked: string) {
    this.full = full;
    this.masked = masked;
  }
}

class Stated {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A part that quotes no value: the name of a function, a word of the expression, a type, a limit. */
export const stated = (part: string | number | bigint): Stated => new Stated(String(part));

type Part = Stated | Reason | string | number | bigint;

/** Builds a reason from a template literal. Everything inserted is a quoted value, except `stated` parts and reasons. */
export function why(words: TemplateStringsArray, ...parts: readonly Part[]): Reason {
  const shown = (part: Part, isMasked: boolean): string => {
    if (part instanceof Stated) return part.text;
    if (part instanceof Reason) return isMasked ? part.masked : part.full;
    return isMasked ? hiddenValue : String(part);
  };
  const text = (isMasked: boolean): string =>
    words.map((word, index) => word + (index < parts.length ? shown(parts[index] ?? '', isMasked) : '')).join('');
  return new Reason(text(false), text(true));
}
