/** Compiles the tree of a regular expression to steps for the matcher. It expands repetitions with bounds. */
import { type PatternItem, type Parsed, widthOf } from './syntax.ts';

/** One step of the matcher. */
export type ProgramStep =
  | { readonly op: 'set'; readonly test: (character: string) => boolean }
  | { readonly op: 'assert'; readonly what: Extract<PatternItem, { kind: 'assert' }>['what'] }
  | { readonly op: 'save'; readonly slot: number }
  /** Tries `first`, then `second` when `first` fails. */
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'back'; readonly index: number; readonly ignoreCase: boolean }
  | {
      readonly op: 'look';
      readonly program: PatternProgram;
      readonly behind: number | undefined;
      readonly negative: boolean;
    }
  | { readonly op: 'given'; readonly index: number; no: number }
  /** Saves where a round of a loop began. */
  | { readonly op: 'mark'; readonly slot: number }
  /** Leaves a loop whose round consumed nothing. */
  | { readonly op: 'moved'; readonly slot: number; out: number }
  | { readonly op: 'done' };

/** The steps of a regular expression. */
export interface PatternProgram {
  readonly steps: readonly ProgramStep[];
  /** Number of saved positions: two per group, and one per loop that could repeat without moving. */
  readonly slots: number;
  /** True when a place that failed once always fails, because only the place decides. */
  readonly forgetful: boolean;
}

/** Only nested bounds like {1000}{1000} make longer programs. */
const longest = 50_000;

/** Compiles a parsed expression. @throws SyntaxError when its repetitions expand to too many steps */
export function compileProgram({ root, groups }: Parsed): PatternProgram {
  return new Compiler(groups).compile(root);
}

class Compiler {
  readonly #steps: ProgramStep[] = [];
  #slots: number;
  readonly #groups: number;
  #forgetful = true;

  constructor(groups: number) {
    this.#groups = groups;
    this.#slots = (groups + 1) * 2;
  }

  compile(root: PatternItem): PatternProgram {
    this.#write(root);
    this.#steps.push({ op: 'done' });
    return { steps: this.#steps, slots: this.#slots, forgetful: this.#forgetful };
  }

  #push<T extends ProgramStep>(step: T): T {
    if (this.#steps.length >= longest) throw new SyntaxError('the regular expression is too large');
    this.#steps.push(step);
    return step;
  }

  #write(item: PatternItem): void {
    switch (item.kind) {
      case 'set':
        this.#push({ op: 'set', test: item.test });
        return;
      case 'assert':
        this.#push({ op: 'assert', what: item.what });
        return;
      case 'sequence':
        for (const part of item.items) this.#write(part);
        return;
      case 'group':
        if (item.index !== undefined) this.#push({ op: 'save', slot: item.index * 2 });
        this.#write(item.body);
        if (item.index !== undefined) this.#push({ op: 'save', slot: item.index * 2 + 1 });
        return;
      case 'choice':
        this.#choice(item.options);
        return;
      case 'repeat':
        this.#repeat(item);
        return;
      case 'back':
        this.#forgetful = false;
        this.#push({ op: 'back', index: item.index, ignoreCase: item.ignoreCase });
        return;
      case 'look': {
        const inner = new Compiler(this.#groups).compile(item.body);
        this.#forgetful = false;
        this.#push({ op: 'look', program: inner, behind: item.behind, negative: item.negative });
        return;
      }
      case 'given': {
        this.#forgetful = false;
        const test = this.#push({ op: 'given' as const, index: item.index, no: 0 });
        this.#write(item.yes);
        const end = this.#push({ op: 'jump' as const, to: 0 });
        test.no = this.#steps.length;
        this.#write(item.no);
        end.to = this.#steps.length;
      }
    }
  }

  #choice(options: readonly PatternItem[]): void {
    const ends: { to: number }[] = [];
    for (const [index, option] of options.entries()) {
      if (index === options.length - 1) {
        this.#write(option);
        break;
      }
      const split = this.#push({ op: 'split' as const, first: this.#steps.length + 1, second: 0 });
      this.#write(option);
      ends.push(this.#push({ op: 'jump' as const, to: 0 }));
      split.second = this.#steps.length;
    }
    for (const end of ends) end.to = this.#steps.length;
  }

  #repeat({ body, least, most, greedy }: Extract<PatternItem, { kind: 'repeat' }>): void {
    for (let round = 0; round < least; round += 1) this.#write(body);
    if (most === Infinity) {
      this.#loop(body, greedy);
      return;
    }
    const splits: { first: number; second: number }[] = [];
    for (let round = least; round < most; round += 1) {
      splits.push(this.#split());
      this.#write(body);
    }
    for (const split of splits) this.#leave(split, greedy);
  }

  #loop(body: PatternItem, greedy: boolean): void {
    const start = this.#steps.length;
    const split = this.#split();
    const mayStay = widthOf(body)[0] === 0;
    const slot = this.#slots;
    if (mayStay) {
      this.#slots += 1;
      this.#forgetful = false;
      this.#push({ op: 'mark', slot });
    }
    this.#write(body);
    const moved = mayStay ? this.#push({ op: 'moved' as const, slot, out: 0 }) : undefined;
    this.#push({ op: 'jump', to: start });
    this.#leave(split, greedy);
    if (moved) moved.out = this.#steps.length;
  }

  #split(): { first: number; second: number } {
    return this.#push({ op: 'split' as const, first: this.#steps.length + 1, second: 0 });
  }

  #leave(split: { first: number; second: number }, greedy: boolean): void {
    split.second = this.#steps.length;
    if (!greedy) [split.first, split.second] = [split.second, split.first];
  }
}
