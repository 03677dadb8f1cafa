/**
 * Finds the function for a name and its arguments, and calls it. Several functions may share a name; the kinds of their
 * arguments select one.
 */
import { stated, why } from '../evaluate/reason.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import { fault } from './fault.ts';
import type { YaqlNames } from './names.ts';
import { fits, isLazy, mayFit, narrower, type Parameter, type Signature } from './signature.ts';
import type { Argument, SyntaxTree } from './syntax.ts';
import { isListing, valueKind, type Value } from './value.ts';

/** Argument that the function evaluates itself, with the values as `$1`, `$2`, … */
export type Lambda = (...values: Value[]) => Value;

/** Context of a call, besides its arguments. */
export interface Call {
  /** A new scope, which the function may fill and return (`let`). */
  readonly names: YaqlNames;
  readonly machine: YaqlMachine;
  /** Named arguments that match no parameter. */
  readonly named: ReadonlyMap<string, Value>;
  lambda(index: number): Lambda;
  /** Evaluates like {@link lambda}, but in a scope that the function made. */
  within(index: number, names: YaqlNames): Value;
  /** True when the argument was given. */
  given(index: number): boolean;
}

/** The evaluator, as functions use it. */
export interface YaqlMachine {
  /** Counts one step (a call or an element) and stops an expression that takes too many. */
  step(): void;
  /** Budget that pays for the steps, shared with all other evaluation, and the operator's limits. */
  readonly work: EvaluationWork;
  evaluate(tree: SyntaxTree, names: YaqlNames): Value;
  /** Calls a function by name with values. */
  call(name: string, items: readonly Value[], options?: CallOptions): Value;
  /** Limits the number of elements, at once for a list or while a sequence is read. */
  limited(value: Value): Value;
  /** Refuses a value that needs too much memory. */
  weigh(value: Value): Value;
}

/** How a function is called. */
export interface CallOptions {
  readonly method?: boolean;
  readonly names?: YaqlNames;
  readonly named?: ReadonlyMap<string, Value>;
}

/** One form of a function. */
export interface FunctionDefinition {
  readonly name: string;
  readonly as: 'function' | 'method' | 'both';
  readonly signature: Signature;
  /** Named arguments are rules (`a => b`) and keep their positions. */
  readonly rules: boolean;
  /** Lambdas are null among the values; get them from the call. */
  readonly run: (values: Value[], call: Call) => Value;
}

type Given = { readonly tree: SyntaxTree } | { readonly value: Value } | undefined;

interface Candidate {
  readonly definition: FunctionDefinition;
  /** The parameter of each positional argument. */
  readonly places: readonly Parameter[];
}

/** A call before its form is chosen. */
export interface FunctionParameters {
  readonly name: string;
  readonly candidates: readonly FunctionDefinition[];
  /** The value before the dot. */
  readonly receiver: Value | undefined;
  readonly items: readonly Argument[] | readonly Value[];
  readonly evaluated: boolean;
  /** Named arguments, when the others are values too. */
  readonly named?: ReadonlyMap<string, Value>;
  readonly names: YaqlNames;
  readonly machine: YaqlMachine;
  readonly child: (parent: YaqlNames) => YaqlNames;
}

/** Chooses the form that fits the arguments and calls it. @throws YaqlFault when none fits, or more than one */
export function invokeFunction(parameters: FunctionParameters): Value {
  const { name, candidates, receiver, evaluated, machine, names } = parameters;
  const [first] = candidates;
  // A name that the code computes (`call`) may be a value; the name of a function is not.
  const called = evaluated && !first ? name : stated(name);
  const what =
    receiver === undefined
      ? why`function "${called}"`
      : why`method "${called}" for receiver ${stated(valueKind(receiver))}`;
  if (!first) return fault(why`Unknown ${what}`);
  if (candidates.some(({ rules }) => rules !== first.rules)) fault(why`Ambiguous ${what}`);
  const { places, named } = given(parameters, first.rules);
  const possible = candidates.flatMap((definition) => arrange(definition, places, named) ?? []);
  const [some] = possible;
  if (!some) return fault(why`No ${what} matches supplied arguments`);
  const laziness = (candidate: Candidate): string =>
    candidate.places.map(({ kind }) => (isLazy(kind) ? 'l' : 'v')).join('') + lazyNames(candidate, named);
  if (possible.some((candidate) => laziness(candidate) !== laziness(some))) fault(why`Ambiguous ${what}`);
  const work = (item: Given, lazy: boolean): Given =>
    item && 'tree' in item && !lazy ? { value: machine.evaluate(item.tree, names) } : item;
  const worked = places.map((item, index) => work(item, isLazy(some.places[index]?.kind ?? 'any')));
  const workedNamed = new Map(
    Array.from(named, ([key, item]) => [key, work(item, isLazy(parameterNamed(some, key)?.kind ?? 'any'))] as const),
  );
  let best: { candidate: Candidate; bound: Given[] } | undefined;
  for (const candidate of possible) {
    const bound = bind(candidate, worked, workedNamed);
    if (!bound) continue;
    if (
      best &&
      best.candidate.places.some((place, index) => narrower(place.kind, candidate.places[index]?.kind ?? place.kind))
    )
      continue;
    if (
      best &&
      !candidate.places.some((place, index) => narrower(place.kind, best?.candidate.places[index]?.kind ?? place.kind))
    ) {
      fault(why`Ambiguous ${what}`);
    }
    best = { candidate, bound };
  }
  if (!best) return fault(why`No ${what} matches supplied arguments`);
  return run(best.candidate, best.bound, workedNamed, parameters);
}

const parameterNamed = ({ definition }: Candidate, name: string): Parameter | undefined =>
  definition.signature.parameters.find((parameter) => parameter.name === name);
const lazyNames = (candidate: Candidate, named: ReadonlyMap<string, Given>): string =>
  [...named.keys()].filter((name) => isLazy(parameterNamed(candidate, name)?.kind ?? 'any')).join(',');

function given(
  { receiver, items, evaluated, named: values }: FunctionParameters,
  rules: boolean,
): { places: Given[]; named: Map<string, Given> } {
  const places: Given[] = receiver === undefined ? [] : [{ value: receiver }];
  const named = new Map<string, Given>(Array.from(values ?? [], ([name, value]) => [name, { value }]));
  for (const item of items) {
    if (evaluated) places.push({ value: item as Value });
    else if (item === undefined) places.push(undefined);
    else {
      const tree = item as SyntaxTree;
      if (rules || tree.kind !== 'rule') places.push({ tree });
      else if (tree.source.kind === 'keyword') named.set(tree.source.name, { tree: tree.destination });
      else fault(why`Cannot convert mapping to keyword argument`, tree.offset);
    }
  }
  return { places, named };
}

/** Assigns arguments to parameters. Undefined when there are too many, too few or clearly wrong ones. */
function arrange(
  definition: FunctionDefinition,
  places: readonly Given[],
  named: ReadonlyMap<string, Given>,
): Candidate | undefined {
  const { parameters, rest, named: anyNamed } = definition.signature;
  if (places.length > parameters.length && !rest) return undefined;
  const own = new Set(parameters.map(({ name }) => name));
  if (!anyNamed && [...named.keys()].some((name) => !own.has(name))) return undefined;
  for (const [index, parameter] of parameters.entries()) {
    const inPlace = index < places.length && places[index] !== undefined;
    if (inPlace && named.has(parameter.name)) return undefined;
    if (!inPlace && !named.has(parameter.name) && parameter.fallback === undefined) return undefined;
  }
  const arranged = places.map((_, index) => parameters[index] ?? rest);
  for (const [index, item] of places.entries()) {
    const parameter = arranged[index];
    if (!parameter) return undefined;
    if (item && 'tree' in item && !mayFit(parameter, item.tree)) return undefined;
    if (item && 'value' in item && !isLazy(parameter.kind) && !fits(parameter.kind, parameter.nullable, item.value))
      return undefined;
  }
  return { definition, places: arranged.filter((parameter) => parameter !== undefined) };
}

/** Returns the arguments in the order of the parameters; undefined when one does not fit. */
function bind(
  { definition }: Candidate,
  places: readonly Given[],
  named: ReadonlyMap<string, Given>,
): Given[] | undefined {
  const { parameters, rest } = definition.signature;
  const bound: Given[] = [];
  const ok = (parameter: Parameter, item: Given): boolean =>
    !item || isLazy(parameter.kind) || !('value' in item) || fits(parameter.kind, parameter.nullable, item.value);
  for (const [index, parameter] of parameters.entries()) {
    const item = places[index] ?? named.get(parameter.name);
    if (!ok(parameter, item)) return undefined;
    bound.push(item);
  }
  for (const item of places.slice(parameters.length)) {
    if (!rest || !item || !ok(rest, item)) return undefined;
    bound.push(item);
  }
  return bound;
}

function run(
  { definition }: Candidate,
  bound: readonly Given[],
  named: ReadonlyMap<string, Given>,
  { machine, names, child }: FunctionParameters,
): Value {
  const { parameters, rest } = definition.signature;
  const scope = child(names);
  const own = new Set(parameters.map(({ name }) => name));
  const values = bound.map((item, index): Value => {
    const parameter = parameters[index] ?? rest;
    if (!item) {
      const fallback = parameter?.fallback;
      return fallback === undefined || fallback === 'nothing' ? null : fallback;
    }
    if (!('value' in item)) return null;
    machine.weigh(item.value);
    const listing = parameter?.kind === 'listing' || parameter?.kind === 'nonset';
    return listing && isListing(item.value) ? machine.limited(item.value) : item.value;
  });
  const within = (index: number, inner: YaqlNames): Value => {
    const item = bound[index];
    if (!item) return null;
    return 'tree' in item ? machine.evaluate(item.tree, inner) : item.value;
  };
  const extra = Array.from(named).filter(([name]) => !own.has(name));
  return definition.run(values, {
    names: scope,
    machine,
    named: new Map(extra.map(([name, item]) => [name, item && 'value' in item ? item.value : null])),
    lambda:
      (index) =>
      (...given_) => {
        machine.step();
        const inner = child(scope);
        for (const [at, value] of given_.entries()) inner.set(String(at + 1), value);
        return within(index, inner);
      },
    within,
    given: (index) => bound[index] !== undefined,
  });
}
