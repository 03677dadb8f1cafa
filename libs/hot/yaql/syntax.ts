/** Parses tokens to a tree, by the precedence of operators. */
import { stated, why } from '../evaluate/reason.ts';
import { fault } from './fault.ts';
import { type YaqlToken, tokens } from './token.ts';

/** A node of the tree. `offset` is its character in the expression. */
export type SyntaxTree =
  | { readonly kind: 'constant'; readonly value: null | boolean | number | bigint | string; readonly offset: number }
  /** An unquoted word: a name where a name is expected, elsewhere its own text. */
  | { readonly kind: 'keyword'; readonly name: string; readonly offset: number }
  | { readonly kind: 'variable'; readonly name: string; readonly offset: number }
  | { readonly kind: 'call'; readonly name: string; readonly items: readonly Argument[]; readonly offset: number }
  | {
      readonly kind: 'member';
      readonly from: SyntaxTree;
      readonly member: SyntaxTree;
      readonly safe: boolean;
      readonly offset: number;
    }
  /** A tree in parentheses, which is no longer a member by itself. */
  | { readonly kind: 'wrapped'; readonly inner: SyntaxTree; readonly offset: number }
  | { readonly kind: 'rule'; readonly source: SyntaxTree; readonly destination: SyntaxTree; readonly offset: number };

/** Undefined: omitted, as in `f(, 2)`. */
export type Argument = SyntaxTree | undefined;

/** Loosest first: a higher level binds tighter. Only `->` groups from the right. */
const binary: ReadonlyMap<string, number> = new Map([
  ['->', 1],
  ['or', 2],
  ['and', 3],
  ...['>', '<', '>=', '<=', '!=', '=', 'in'].map((symbol) => [symbol, 5] as const),
  ['+', 6],
  ['-', 6],
  ['*', 7],
  ['/', 7],
  ['mod', 7],
  ['=~', 8],
  ['!~', 8],
]);
const prefix: ReadonlyMap<string, number> = new Map([
  ['not', 4],
  ['+', 9],
  ['-', 9],
]);
const deepest = 200;

/** @throws YaqlFault */
export function parseYaql(text: string): SyntaxTree {
  const parser = new Parser(tokens(text), text.length);
  const tree = parser.expression(0);
  parser.end();
  return tree;
}

class Parser {
  readonly #tokens: readonly YaqlToken[];
  readonly #length: number;
  #at = 0;
  #depth = 0;

  constructor(list: readonly YaqlToken[], length: number) {
    this.#tokens = list;
    this.#length = length;
  }

  end(): void {
    if (this.#at < this.#tokens.length) this.#unexpected();
  }

  expression(least: number): SyntaxTree {
    if (++this.#depth > deepest) fault(why`Parse error: nested deeper than ${stated(deepest)} levels`);
    let left = this.#operand();
    for (;;) {
      const symbol = this.#symbol();
      const level = symbol === undefined ? undefined : binary.get(symbol);
      if (symbol === undefined || level === undefined || level < least) break;
      const { offset } = this.#take();
      const right = this.expression(symbol === '->' ? level : level + 1);
      left = { kind: 'call', name: `#operator_${symbol}`, items: [left, right], offset };
    }
    this.#depth -= 1;
    return left;
  }

  #operand(): SyntaxTree {
    const symbol = this.#symbol();
    const level = symbol === undefined ? undefined : prefix.get(symbol);
    if (symbol !== undefined && level !== undefined) {
      const { offset } = this.#take();
      return { kind: 'call', name: `#unary_${symbol}`, items: [this.expression(level)], offset };
    }
    return this.#suffixes(this.#primary());
  }

  #suffixes(first: SyntaxTree): SyntaxTree {
    let from = first;
    for (;;) {
      const symbol = this.#symbol();
      if (symbol === '.' || symbol === '?.') {
        const { offset } = this.#take();
        from = { kind: 'member', from, member: this.#primary(), safe: symbol === '?.', offset };
      } else if (symbol === '[') {
        const { offset } = this.#take();
        from = { kind: 'call', name: '#indexer', items: [from, ...this.#arguments(']')], offset };
      } else return from;
    }
  }

  #primary(): SyntaxTree {
    const token = this.#take();
    const { offset } = token;
    switch (token.kind) {
      case 'number':
      case 'text':
        return { kind: 'constant', value: token.value, offset };
      case 'variable':
        return { kind: 'variable', name: token.name, offset };
      case 'function':
        return { kind: 'call', name: token.name, items: this.#arguments(')'), offset };
      case 'word':
        return word(token.name, offset);
      case 'symbol':
        break;
    }
    if (token.symbol === '[') return { kind: 'call', name: '#list', items: this.#arguments(']'), offset };
    if (token.symbol === '{') return { kind: 'call', name: '#map', items: this.#arguments('}'), offset };
    if (token.symbol === '(') {
      const inner = this.expression(0);
      if (this.#symbol() !== ')') this.#unexpected();
      this.#take();
      return { kind: 'wrapped', inner, offset };
    }
    this.#at -= 1;
    return this.#unexpected();
  }

  /** Reads values, some possibly omitted, then named arguments. A comma at the end adds no argument. */
  #arguments(close: string): Argument[] {
    const list: Argument[] = [];
    if (this.#symbol() === close) {
      this.#take();
      return list;
    }
    let named = false;
    for (;;) {
      if (this.#symbol() === ',' && !named) list.push(undefined);
      else {
        const tree = this.#argument();
        if (named && tree.kind !== 'rule') fault(why`Parse error: a value after a named one`, tree.offset);
        named = tree.kind === 'rule';
        list.push(tree);
      }
      const symbol = this.#symbol();
      if (symbol !== ',' && symbol !== close) this.#unexpected();
      this.#take();
      if (symbol === close) return list;
    }
  }

  #argument(): SyntaxTree {
    const source = this.expression(0);
    if (this.#symbol() !== '=>') return source;
    const { offset } = this.#take();
    return { kind: 'rule', source, destination: this.expression(0), offset };
  }

  #symbol(): string | undefined {
    const token = this.#tokens[this.#at];
    return token?.kind === 'symbol' ? token.symbol : undefined;
  }

  #take(): YaqlToken {
    const token = this.#tokens[this.#at];
    if (!token) return this.#unexpected();
    this.#at += 1;
    return token;
  }

  #unexpected(): never {
    const token = this.#tokens[this.#at];
    if (!token) return fault(why`Parse error: unexpected end of statement`, this.#length);
    const text = 'symbol' in token ? token.symbol : 'name' in token ? token.name : String(token.value);
    return fault(why`Parse error: unexpected '${stated(text)}' at position ${stated(token.offset)}`, token.offset);
  }
}

function word(name: string, offset: number): SyntaxTree {
  if (name === 'true' || name === 'false') return { kind: 'constant', value: name === 'true', offset };
  if (name === 'null') return { kind: 'constant', value: null, offset };
  return { kind: 'keyword', name, offset };
}
