/**
 * The variables, and functions made with `def`, that an expression can read. A child also reads those of its parent.
 */
import type { DefinedFunction, NamesValue, Value } from './value.ts';

/** Names and their values. A name that is set here hides the same name of the parent. */
export class YaqlNames implements NamesValue {
  readonly #parent: YaqlNames | undefined;
  readonly #values = new Map<string, Value>();
  readonly #functions = new Map<string, DefinedFunction>();

  constructor(parent?: YaqlNames) {
    this.#parent = parent;
  }

  /** `$` means `$1`. */
  set(name: string, value: Value): void {
    this.#values.set(name === '' ? '1' : name, value);
  }

  /** A name without a value is null. */
  get(name: string): Value {
    const own = name === '' ? '1' : name;
    const value = this.#values.get(own);
    if (value !== undefined) return value;
    let at = this.#parent;
    while (at && !at.#values.has(own)) at = at.#parent;
    return (at && at.#values.get(own)) ?? null;
  }

  define(name: string, defined: DefinedFunction): void {
    this.#functions.set(name, defined);
  }

  defined(name: string): DefinedFunction | undefined {
    const found = this.#functions.get(name);
    if (found) return found;
    let at = this.#parent;
    while (at && !at.#functions.has(name)) at = at.#parent;
    return at && at.#functions.get(name);
  }
}
