/**
 * Expressions of the function `yaql`: parsed once, evaluated on data. They are pure and always end: every call and
 * every element read counts as a step, and steps (like all other work), elements, memory and depth are limited.
 */
import { stated, why } from '../evaluate/reason.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { PatternTooSlow } from '@anneal/python/pattern/pattern.ts';
import { invokeFunction as callFunction, type CallOptions, type YaqlMachine } from './call.ts';
import { valueFromJson, valueToJson } from './convert.ts';
import { fault } from './fault.ts';
import { yaqlFunctions } from './library/library.ts';
import { partOf } from './library/time.ts';
import { Moment, TimeSpan } from './library/moment.ts';
import { YaqlNames } from './names.ts';
import type { SyntaxTree } from './syntax.ts';
import { OutOfWork, EvaluationWork } from '../evaluate/work.ts';
import { bySetting, tooMuchMemory } from '../limits.ts';
import { Dict, isListing, iterate, valueKind, Once, Rule, SetValue, truth, type Value, View } from './value.ts';

export { parseYaql, type SyntaxTree as Tree } from './syntax.ts';
export { YaqlFault } from './fault.ts';

const deepest = 150;
/** Finding a function and calling it costs as much as making this many values. */
const workAStep = 4;

/** @throws YaqlFault */
export function evaluateYaql({
  tree,
  data,
  work = new EvaluationWork(),
  functions = {},
}: {
  tree: SyntaxTree;
  data: Json;
  work?: EvaluationWork;
  /** Functions of the caller, with at most one argument. They hide those of the library. */
  functions?: Readonly<Record<string, (argument: Json | undefined) => Json>>;
}): Json {
  const names = new YaqlNames();
  const machine = new Evaluator(work);
  try {
    for (const [name, run] of Object.entries(functions)) {
      names.define(name, ([argument]) =>
        valueFromJson(run(argument === undefined ? undefined : valueToJson(argument, machine))),
      );
    }
    names.set('', valueFromJson(data));
    return valueToJson(machine.evaluate(tree, names), machine);
  } catch (error) {
    if (error instanceof OutOfWork) return fault(why`The expression ${stated(error.message)}`);
    if (error instanceof RangeError) {
      const isDeep = error.message.includes('call stack');
      return fault(isDeep ? why`The expression recurses too deeply` : why`Expression consumed too much memory`);
    }
    if (error instanceof PatternTooSlow) return fault(why`${stated(error.message)}`);
    throw error;
  }
}

class Evaluator implements YaqlMachine {
  readonly work: EvaluationWork;
  #depth = 0;

  constructor(work: EvaluationWork) {
    this.work = work;
  }

  step(): void {
    this.work.spend(workAStep);
  }

  evaluate(tree: SyntaxTree, names: YaqlNames): Value {
    this.step();
    switch (tree.kind) {
      case 'constant':
        return tree.value;
      case 'keyword':
        return tree.name;
      case 'variable':
        return names.get(tree.name);
      case 'wrapped':
        return this.evaluate(tree.inner, names);
      case 'rule':
        return new Rule(this.evaluate(tree.source, names), this.evaluate(tree.destination, names));
      case 'member':
        return this.#member(tree, names);
      case 'call':
        return this.#deeper(() => this.#call(tree, names));
    }
  }

  /** Counts the depth of calls, so that endless recursion is refused before the call stack overflows. */
  #deeper(work: () => Value): Value {
    this.#depth += 1;
    try {
      return this.#depth > deepest ? fault(why`The expression recurses too deeply`) : work();
    } finally {
      this.#depth -= 1;
    }
  }

  #call({ name, items }: Extract<SyntaxTree, { kind: 'call' }>, names: YaqlNames): Value {
    const defined = names.defined(name);
    if (defined) {
      const places = items.filter((item) => item !== undefined && item.kind !== 'rule') as SyntaxTree[];
      const extra = items.flatMap((item): [string, Value][] =>
        item?.kind === 'rule' && item.source.kind === 'keyword'
          ? [[item.source.name, this.evaluate(item.destination, names)]]
          : [],
      );
      return defined(
        places.map((item) => this.evaluate(item, names)),
        new Map(extra),
      );
    }
    if (name === 'switch') return this.#switch(items, names);
    return this.weigh(
      callFunction({
        name,
        candidates: yaqlFunctions.get(name) ?? [],
        receiver: undefined,
        items,
        evaluated: false,
        names,
        machine: this,
        child,
      }),
    );
  }

  #switch(items: Extract<SyntaxTree, { kind: 'call' }>['items'], names: YaqlNames): Value {
    for (const item of items) if (item?.kind !== 'rule') fault(why`No function "switch" matches supplied arguments`);
    for (const item of items) {
      if (item?.kind === 'rule' && truth(this.evaluate(item.source, names)))
        return this.evaluate(item.destination, names);
    }
    return null;
  }

  #member(tree: Extract<SyntaxTree, { kind: 'member' }>, names: YaqlNames): Value {
    const from = this.evaluate(tree.from, names);
    if (tree.safe && from === null) return null;
    const { member } = tree;
    if (member.kind === 'keyword') return this.#property(from, member.name);
    const isMethod = member.kind === 'call' && !member.name.startsWith('#');
    if (!isMethod) return fault(why`No function "#operator_." matches supplied arguments`, tree.offset);
    return this.#deeper(() => {
      const candidates = yaqlFunctions.get(`.${member.name}`) ?? [];
      return this.weigh(
        callFunction({
          name: member.name,
          candidates,
          receiver: from,
          items: member.items,
          evaluated: false,
          names,
          machine: this,
          child,
        }),
      );
    });
  }

  /** Reads a property; of a list, that of each element. */
  #property(from: Value, name: string): Value {
    if (from instanceof Dict)
      return from.get(name) ?? (from.has(name) ? null : fault(why`KeyError: '${stated(name)}'`));
    if (from instanceof Moment || from instanceof TimeSpan)
      return partOf(from, name) ?? fault(why`Unable to resolve property ${stated(name)} of ${stated(valueKind(from))}`);
    if (!isListing(from)) return fault(why`Unable to resolve property ${stated(name)} of ${stated(valueKind(from))}`);
    const limited = iterate(this.limited(from) as Once);
    const each = (item: Value): Value => this.#deeper(() => this.#property(item, name));
    return new Once({
      *[Symbol.iterator]() {
        for (const item of limited) yield each(item);
      },
    });
  }

  call(
    name: string,
    items: readonly Value[],
    { method = false, names = new YaqlNames(), named = new Map() }: CallOptions = {},
  ): Value {
    this.step();
    const defined = method ? undefined : names.defined(name);
    if (defined) return this.#deeper(() => defined(items, named));
    const [receiver, ...rest] = method ? items : [undefined, ...items];
    const candidates = yaqlFunctions.get(`${method ? '.' : ''}${name}`) ?? [];
    return this.#deeper(() =>
      callFunction({
        name,
        candidates,
        receiver,
        items: rest as Value[],
        evaluated: true,
        named,
        names,
        machine: this,
        child,
      }),
    );
  }

  limited(value: Value): Value {
    const most = this.work.limits.elements;
    const size = Array.isArray(value)
      ? value.length
      : value instanceof SetValue
        ? value.size
        : value instanceof View && value.kind !== 'values'
          ? value.dict.size
          : undefined;
    const refuse = (): never =>
      fault(why`Collection length exceeds ${stated(most)} elements ${stated(bySetting('elements'))}`);
    if (size !== undefined) {
      this.work.spend(size);
      return most >= 0 && size > most ? refuse() : value;
    }
    const source = iterate(value as Once);
    const step = (): void => this.step();
    const read = function* (): Generator<Value> {
      let index = 0;
      for (const item of source) {
        if (most >= 0 && index >= most) refuse();
        index += 1;
        step();
        yield item;
      }
    };
    return value instanceof Once ? new Once(read()) : value instanceof View ? new Once(read()) : value;
  }

  weigh(value: Value): Value {
    const { memory } = this.work.limits;
    if (typeof value === 'string') this.work.characters(value.length);
    else if (Array.isArray(value)) this.work.spend(value.length);
    if (memory < 0) return value;
    const bytes = typeof value === 'string' ? textBytes(value) : Array.isArray(value) ? 40 + 8 * value.length : 0;
    return bytes > memory ? fault(why`${stated(tooMuchMemory(memory))}`) : value;
  }
}

/** Memory of a string in CPython: a header and one, two or four bytes per character. */
function textBytes(value: string): number {
  if (value.length < 1000) return 0;
  // oxlint-disable-next-line no-control-regex -- the borders of CPython's forms
  if (/^[\u0000-\u007f]*$/.test(value)) return 49 + value.length;
  // oxlint-disable-next-line no-control-regex -- the same
  if (/^[\u0000-\u00ff]*$/.test(value)) return 73 + value.length;
  return /[\ud800-\udbff]/.test(value) ? 76 + 4 * value.length : 74 + 2 * value.length;
}

const child = (parent: YaqlNames): YaqlNames => new YaqlNames(parent);
