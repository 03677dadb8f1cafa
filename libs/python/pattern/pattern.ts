/**
 * Python's regular expressions, matched by backtracking. The work is bounded, so that no expression can hang a compile.
 * Positions count characters.
 */
import { compileProgram, type PatternProgram } from './program.ts';
import { parsePattern } from './syntax.ts';

/** A part of the text. `start` and `end` count characters; `end` is exclusive. */
export interface MatchSpan {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}
/** A match and its groups in order; undefined for a group that took no part. */
export interface Match extends MatchSpan {
  readonly groups: readonly (MatchSpan | undefined)[];
}

const inCharacters = (text: string): string[] => (/[\ud800-\udfff]/.test(text) ? Array.from(text) : text.split(''));
/** More than any sensible expression needs. */
const mostSteps = 5_000_000;
const mostStepsACharacter = 20;
/** Bytes, one for each pair of a program step and a text position. */
const mostPlaces = 50_000_000;
const bytesAStep = 256;
const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);

/** Budget that a match draws from. Both methods throw when it is used up. */
export interface MatchBudget {
  spend(amount: number): void;
  characters(count: number): void;
}

/** Number of steps that cost as much as making one value. */
const stepsAWork = 16;
const stepsAPayment = 1024;

/** The work exceeds the bound. */
export class PatternTooSlow extends Error {}

/** A compiled regular expression. It has no state, so matches may overlap. */
export class Pattern {
  readonly source: string;
  readonly flags: string;
  readonly names: ReadonlyMap<string, number>;
  readonly #program: PatternProgram;
  readonly groups: number;

  /** @throws SyntaxError */
  constructor(source: string, flags = '') {
    const parsed = parsePattern(source, flags);
    this.source = source;
    this.flags = flags;
    this.names = parsed.names;
    this.groups = parsed.groups;
    this.#program = compileProgram(parsed);
  }

  /** The first match. @throws PatternTooSlow */
  search(text: string): Match | undefined {
    return this.on(text).search();
  }

  /** Number of steps of the program, with repetitions expanded. */
  get size(): number {
    return this.#program.steps.length;
  }

  /**
   * True when the match that begins at the start of the text also ends at its end. @throws PatternTooSlow, OutOfWork
   */
  covers(text: string, work?: MatchBudget): boolean {
    work?.characters(text.length);
    return this.on(text, work).covers();
  }

  /** Prepares a search for many matches in one text. Searching spends `work` as it proceeds. */
  on(text: string, work?: MatchBudget): Search {
    return new Search(this.#program, { groups: this.groups, characters: inCharacters(text), work });
  }
}

/** One pattern on one text. */
export class Search {
  readonly #program: PatternProgram;
  readonly #groups: number;
  readonly #run: Run;
  readonly characters: readonly string[];

  constructor(
    program: PatternProgram,
    { groups, characters, work }: { groups: number; characters: readonly string[]; work: MatchBudget | undefined },
  ) {
    this.#program = program;
    this.#groups = groups;
    this.#run = new Run(characters, work);
    this.characters = characters;
  }

  /** Number of steps so far. */
  get steps(): number {
    return this.#run.steps;
  }

  /** The first match that begins at `from` or later. @throws PatternTooSlow */
  search(from = 0): Match | undefined {
    let slots: readonly number[] | undefined;
    for (let start = from; start <= this.characters.length && !slots; start += 1) {
      slots = this.#run.match(this.#program, start);
    }
    this.#run.pay();
    return slots && this.#found(slots);
  }

  /** @throws PatternTooSlow */
  covers(): boolean {
    const end = this.#run.match(this.#program, 0)?.[1];
    this.#run.pay();
    return end === this.characters.length;
  }

  #found(slots: readonly number[]): Match {
    const span = (index: number): MatchSpan | undefined => {
      const [start = -1, end = -1] = [slots[index * 2], slots[index * 2 + 1]];
      return start < 0 || end < 0 ? undefined : { text: this.characters.slice(start, end).join(''), start, end };
    };
    const groups = Array.from({ length: this.#groups }, (_, index) => span(index + 1));
    return { text: '', start: 0, end: 0, ...span(0), groups };
  }
}

interface Choice {
  readonly at: number;
  readonly position: number;
  /** Number of slot changes to keep. */
  readonly changes: number;
}

class Run {
  readonly #text: readonly string[];
  readonly #most: number;
  steps = 0;
  readonly #visited = new Map<PatternProgram, Uint8Array>();
  readonly #work: MatchBudget | undefined;
  #room = mostPlaces;
  #paid = 0;

  constructor(text: readonly string[], work: MatchBudget | undefined) {
    this.#text = text;
    this.#work = work;
    this.#most = Math.max(mostSteps, mostStepsACharacter * text.length);
  }

  /** The slots of a match that begins at `start`. */
  match(program: PatternProgram, start: number, inherited?: readonly number[]): number[] | undefined {
    const { steps } = program;
    const text = this.#text;
    const slots: number[] = inherited ? [...inherited] : [];
    while (slots.length < program.slots) slots.push(-1);
    const changes: [number, number][] = [];
    const choices: Choice[] = [];
    const visited = this.#places(program);
    const marked: number[] = [];
    const set = (slot: number, value: number): void => {
      changes.push([slot, slots[slot] ?? -1]);
      slots[slot] = value;
    };
    let at = 0;
    let position = start;
    for (;;) {
      const step = steps[at];
      let fails = false;
      if (++this.steps > this.#most) throw new PatternTooSlow('the regular expression takes too long on this text');
      if (this.steps - this.#paid >= stepsAPayment) this.pay();
      switch (step?.op) {
        case 'set': {
          const character = text[position];
          if (character !== undefined && step.test(character)) {
            at += 1;
            position += 1;
          } else fails = true;
          break;
        }
        case 'split': {
          const place = at * (text.length + 1) + position;
          if (visited && visited[place] === 1) fails = true;
          else {
            if (visited) {
              visited[place] = 1;
              marked.push(place);
            }
            choices.push({ at: step.second, position, changes: changes.length });
            at = step.first;
          }
          break;
        }
        case 'jump':
          at = step.to;
          break;
        case 'save':
        case 'mark':
          set(step.slot, position);
          at += 1;
          break;
        case 'moved':
          at = slots[step.slot] === position ? step.out : at + 1;
          break;
        case 'assert':
          if (this.#holds(step.what, position)) at += 1;
          else fails = true;
          break;
        case 'back': {
          const next = this.#again(slots, step.index, position, step.ignoreCase);
          if (next === undefined) fails = true;
          else {
            position = next;
            at += 1;
          }
          break;
        }
        case 'look': {
          const from = position - (step.behind ?? 0);
          const found = from < 0 ? undefined : this.match(step.program, from, slots.slice(0, step.program.slots));
          if ((found !== undefined) === step.negative) fails = true;
          else {
            if (found)
              for (let slot = 2; slot < found.length && slot < slots.length; slot += 1)
                if (found[slot] !== slots[slot] && slot < step.program.slots) set(slot, found[slot] ?? -1);
            at += 1;
          }
          break;
        }
        case 'given':
          at = (slots[step.index * 2 + 1] ?? -1) >= 0 ? at + 1 : step.no;
          break;
        case 'done':
        case undefined:
          slots[0] = start;
          slots[1] = position;
          // Places on the matching path, or not tried yet, have not failed.
          if (visited) for (const place of marked) visited[place] = 0;
          return slots;
      }
      if (!fails) continue;
      const choice = choices.pop();
      if (!choice) return undefined;
      while (changes.length > choice.changes) {
        const [slot, value] = changes.pop() ?? [0, -1];
        slots[slot] = value;
      }
      ({ at, position } = choice);
    }
  }

  /** Pays for the steps since the last payment. */
  pay(): void {
    this.#work?.spend((this.steps - this.#paid) / stepsAWork);
    this.#paid = this.steps;
  }

  /** Remembers places that failed, so that they are not tried again: linear instead of exponential time. */
  #places(program: PatternProgram): Uint8Array | undefined {
    const known = this.#visited.get(program);
    const size = program.steps.length * (this.#text.length + 1);
    if (known || !program.forgetful || size > this.#room) return known;
    this.#room -= size;
    this.steps += size / bytesAStep;
    const places = new Uint8Array(size);
    // A place that failed from one start fails from every other start too.
    this.#visited.set(program, places);
    return places;
  }

  #holds(
    what: 'start' | 'end' | 'line start' | 'line end' | 'last end' | 'word' | 'not word',
    position: number,
  ): boolean {
    const text = this.#text;
    switch (what) {
      case 'start':
        return position === 0;
      case 'end':
        return position === text.length;
      case 'line start':
        return position === 0 || text[position - 1] === '\n';
      case 'line end':
        return position === text.length || text[position] === '\n';
      case 'last end':
        return position === text.length || (position === text.length - 1 && text[position] === '\n');
      case 'word':
        return isWord(text[position - 1]) !== isWord(text[position]);
      case 'not word':
        // In an empty text Python matches neither `\b` nor `\B`.
        return text.length > 0 && isWord(text[position - 1]) === isWord(text[position]);
    }
  }

  #again(slots: readonly number[], index: number, position: number, ignoreCase: boolean): number | undefined {
    const [start = -1, end = -1] = [slots[index * 2], slots[index * 2 + 1]];
    if (start < 0 || end < 0) return undefined;
    const alike = (a: string | undefined, b: string | undefined): boolean =>
      a === b || (ignoreCase && a !== undefined && a.toLowerCase() === b?.toLowerCase());
    for (let offset = 0; offset < end - start; offset += 1) {
      if (!alike(this.#text[start + offset], this.#text[position + offset])) return undefined;
    }
    return position + end - start;
  }
}
