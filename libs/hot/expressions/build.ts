/**
 * Builds expressions from nodes. A map with a single key that names a function is a call; all other nodes are data. The
 * branch of an `if` is chosen here, so only that branch is compiled.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression, PlanSource } from '@anneal/contracts/plan.ts';
import { findInMap } from '../cfn/mapping.ts';
import { Conditions } from './condition.ts';
import { lookupArguments } from '../evaluate/attribute-path.ts';
import { evaluate, evaluateParts, type Scope, unknown } from '../evaluate.ts';
import { openName } from '../groups/open.ts';
import { conditionFunctions, everyName, lookUpFunction, takesWritten } from '../functions/table.ts';
import {
  hiddenValue,
  join,
  listed,
  type MistakeDraft,
  type Mistakes,
  nearestName,
  unknownParameter,
} from '../mistakes.ts';
import { type MappingEntry, type YamlNode, toExact } from '@anneal/python/yaml/node.ts';
import { exactExpression, mapCall, mapExpression, numberCall, plain } from '@anneal/python/values/exact.ts';
import { distance } from 'fastest-levenshtein';
import { type ExactKey, exactKeys, exactRecord } from '@anneal/python/values/record.ts';
import { holdsUnknown } from '../evaluate/unknown.ts';
import type { UsedSources } from '../tree/sources.ts';
import type { Version } from '../syntax/version.ts';

const logic: ReadonlySet<string> = new Set(['equals', 'not', 'and', 'or']);

/** A call whose value is known later. */
export const openExpression: Expression = {
  kind: 'call',
  function: 'get_param',
  arguments: { kind: 'literal', value: openName },
};

/** Result of an `if` without an else whose condition is false: the item, entry or property around it is left out. */
export const vanished: unique symbol = Symbol('vanished');

/** A use of another resource. */
export interface Reference {
  readonly function: 'get_resource' | 'get_attr';
  readonly resource: string;
  readonly attribute: string | undefined;
  readonly at: PlanSource | undefined;
  readonly path: string;
  /** The name of the resource is computed from a hidden value. */
  readonly isHidden?: true;
}

/** The version and the names that an expression may use. */
export interface BuildOptions {
  readonly version: Version;
  readonly dialect: 'hot' | 'cfn';
  /**
   * Only in the dialect `cfn`: the maps that are calls. In HOT, every map whose single key names a function is a call.
   */
  readonly calls?: ReadonlySet<YamlNode> | undefined;
  /** Holds parameters only. No error quotes a value that it hides. */
  readonly scope: Scope;
  /** Names that get_param may read. */
  readonly parameters: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, string>;
  /** Notes each file that is looked for. */
  readonly used: Pick<UsedSources, 'file'>;
  readonly conditions: ReadonlyMap<string, MappingEntry>;
  /** Only in the dialect `cfn`. */
  readonly mappings: ReadonlyMap<string, MappingEntry>;
  readonly mistakes: Mistakes;
}

/** Context of a value that is being built. */
export interface Place {
  readonly path: string;
  /** Called for every reference to a resource. */
  readonly onReference: (reference: Reference) => void;
  /** True inside a condition, where only the functions of conditions are allowed. */
  readonly inCondition?: boolean;
  /** True in an output, where an unknown parameter or a wrong value is not a mistake: as in Heat, the output shows the error. */
  readonly inOutput?: boolean;
}

/** Turns the nodes of one template into expressions. Mistakes are added, and undefined is returned for that part. */
export class Build {
  readonly #options: BuildOptions;
  readonly conditions: Conditions;

  constructor(options: BuildOptions) {
    this.#options = options;
    const { scope, mistakes, dialect } = options;
    const version = dialect === 'cfn' ? '2016-10-14' : options.version;
    this.conditions = new Conditions({ section: options.conditions, version, scope, mistakes, build: this });
  }

  /** Returns undefined after a mistake. */
  value(node: YamlNode, place: Place): Expression | undefined {
    const built = this.part(node, place);
    return built === vanished ? { kind: 'literal', value: null } : built;
  }

  part(node: YamlNode, place: Place): Expression | typeof vanished | undefined {
    if (node.kind === 'scalar') return exactExpression(toExact(node));
    if (node.kind === 'list') return this.#list(node.items, place);
    const [first] = node.entries.size === 1 && (this.#options.calls?.has(node) ?? true) ? node.entries : [];
    if (first) {
      const [name, entry] = first;
      if (place.inCondition && logic.has(name)) return this.#verdict(node, place);
      if (place.inCondition && !this.#fitsCondition(name, entry, place)) return undefined;
      if (name === 'if' && (this.#options.version >= '2016-10-14' || this.#options.dialect === 'cfn'))
        return this.#if(entry.value, place);
      if (name === 'Fn::FindInMap' && this.#options.dialect === 'cfn') return this.#mapping(entry, place);
      const known = lookUpFunction(name, this.#options.version);
      if (known === 'function') return this.#call(name, entry, place);
      if (known !== 'literal') return this.#refuseFunction(name, entry, place);
      if (this.#looksMisspelt(name, entry, place) && this.#options.scope.strict) return undefined;
    }
    return this.#map(node.entries, place);
  }

  /** The value is known now, because mappings are literals and only parameters choose among them. */
  #mapping(entry: MappingEntry, place: Place): Expression | undefined {
    const path = join(place.path, 'Fn::FindInMap');
    const argument = this.value(entry.value, { ...place, path });
    if (!argument) return undefined;
    const value = this.#known(argument, path);
    // The value stays open while a parameter has no value, as with every other function.
    if (value === unknown || value instanceof AnnealError)
      return { kind: 'call', function: 'Fn::Select', arguments: argument };
    const found = findInMap(this.#options.mappings, value);
    if ('value' in found) return { kind: 'literal', value: found.value };
    const problem = this.#hides(argument) ? `"Fn::FindInMap" finds nothing under ${hiddenValue}` : found.problem;
    return this.#refuse({ code: 'InvalidArguments', message: `${path}: ${problem}`, path, at: entry.at });
  }

  /** Builds a value inside a condition, where only the functions of conditions are allowed. */
  condition(node: YamlNode, path: string): Expression | undefined {
    return this.value(node, { path, onReference: () => undefined, inCondition: true });
  }

  /** The values that are compared may contain conditions. */
  #verdict(node: YamlNode, { path }: Place): Expression | undefined {
    const value = this.conditions.use(node, path);
    return value === undefined ? undefined : { kind: 'literal', value };
  }

  #fitsCondition(name: string, entry: MappingEntry, place: Place): boolean {
    const { mistakes, dialect } = this.#options;
    const version = dialect === 'cfn' ? '2016-10-14' : this.#options.version;
    if (name !== 'if' && lookUpFunction(name, version) === 'literal') return true;
    const since = conditionFunctions.get(name);
    if (since !== undefined && version >= since) return true;
    const message = `${place.path}: The function "${name}" is invalid in this context`;
    mistakes.add({ code: 'InvalidCondition', message, path: place.path, at: entry.at, found: name });
    return false;
  }

  #list(items: readonly YamlNode[], place: Place): Expression | undefined {
    const built = items.map((item, index) => this.part(item, { ...place, path: join(place.path, index) }));
    if (built.includes(undefined)) return undefined;
    const kept = built.filter((item) => item !== undefined && item !== vanished);
    return kept.every((item) => item.kind === 'literal')
      ? { kind: 'literal', value: kept.map((item) => item.value) }
      : { kind: 'list', items: kept };
  }

  #map(entries: ReadonlyMap<string, MappingEntry>, place: Place): Expression | undefined {
    const kept: { key: ExactKey; value: Expression }[] = [];
    let complete = true;
    for (const [name, { key = name, value }] of entries) {
      const built = this.part(value, { ...place, path: join(place.path, name) });
      if (built === undefined) complete = false;
      else if (built !== vanished) kept.push({ key, value: built });
    }
    if (!complete) return undefined;
    const literals = kept.flatMap(({ key, value }): [ExactKey, Json][] =>
      value.kind === 'literal' ? [[key, value.value]] : [],
    );
    if (literals.length < kept.length) return mapExpression(kept);
    const value = exactRecord(literals);
    return exactKeys(value) ? mapExpression(kept) : { kind: 'literal', value };
  }

  #if(argument: YamlNode, place: Place): Expression | typeof vanished | undefined {
    const path = join(place.path, 'if');
    const least = this.#options.version >= '2021-04-16' ? 2 : 3;
    if (argument.kind !== 'list' || argument.items.length < least || argument.items.length > 3) {
      const form =
        least === 3
          ? '[condition_name, value_if_true, value_if_false]'
          : '[condition_name, value_if_true, (value_if_false)]';
      return this.#refuse({
        code: 'InvalidArguments',
        message: `${path}: Arguments to "if" must be of the form: ${form}`,
        path,
        at: argument.at,
      });
    }
    const [condition = argument, yes = argument, no] = argument.items;
    const verdict = this.conditions.use(condition, join(path, 0));
    const branch = (node: YamlNode | undefined, index: number): Expression | typeof vanished | undefined =>
      node ? this.part(node, { ...place, path: join(path, index) }) : vanished;
    if (verdict === true) return branch(yes, 1);
    if (verdict === false) return branch(no, 2);
    // Either branch may be chosen later, so both must be valid, and the value stays open.
    branch(yes, 1);
    branch(no, 2);
    return openExpression;
  }

  #call(name: string, entry: MappingEntry, place: Place): Expression | undefined {
    const path = join(place.path, name);
    const argument = this.value(entry.value, { ...place, path });
    if (!argument) return undefined;
    const source = entry.at;
    if (argument.kind === 'call' && argument.function !== mapCall && takesWritten(name))
      return this.#refuse({
        code: 'InvalidArguments',
        message: `${path}: The arguments of "${name}" must be written out`,
        path,
        at: source,
      });
    if (name === 'repeat' && argument.kind === 'map' && !hasWrittenPermutations(argument, this.#options.version))
      return this.#refuse({
        code: 'InvalidArguments',
        message: `${path}: "permutations" must be true or false`,
        path,
        at: source,
      });
    if (name === 'get_file') return this.#file(argument, path, source);
    const read = name === 'get_context' ? contextRead(argument) : { function: name, arguments: argument };
    if (!read) {
      const message = `${path}: Arguments to "get_context" must be of the form [resource_name, (path), ...]`;
      return this.#refuse({ code: 'InvalidArguments', message, path, at: source });
    }
    const call: Expression = {
      kind: 'call',
      function: read.function,
      arguments: this.#foldTarget(read.function, read.arguments, path),
      ...(source && { source }),
    };
    if (!this.#noteLookup(call, { argument, place, path })) return undefined;
    return name === 'get_param' || name === 'Ref' ? this.#exactParameter(call, path) : call;
  }

  /**
   * A plan carries parameters as JSON, which has no 1.0. A value that JSON cannot hold is written into the expression.
   */
  #exactParameter(call: Extract<Expression, { kind: 'call' }>, path: string): Expression {
    if (this.#hides(call)) return call;
    const value = attempt(() => evaluateParts(call, this.#options.scope, path));
    if (value instanceof AnnealError || holdsUnknown(value)) return call;
    return plain(value) === value ? call : exactExpression(value as Json);
  }

  /** The name of the resource must be known now, because it decides the order. A parameter may hold the name. */
  #foldTarget(name: string, argument: Expression, path: string): Expression {
    if (name !== 'get_attr' && name !== 'get_resource') return argument;
    const fold = (expression: Expression): Expression => {
      if (expression.kind !== 'call') return expression;
      const value = this.#known(expression, path);
      return value === unknown || value instanceof AnnealError ? expression : { kind: 'literal', value };
    };
    if (argument.kind !== 'list') return fold(argument);
    const [first, ...rest] = argument.items;
    return first ? { kind: 'list', items: [fold(first), ...rest] } : argument;
  }

  #noteLookup(
    call: Extract<Expression, { kind: 'call' }>,
    /** The argument before the name in it was computed. */
    { argument: written, place, path }: { argument: Expression; place: Place; path: string },
  ): boolean {
    const { function: name, arguments: argument, source: at } = call;
    const isHidden = this.#hides(written);
    const [first, second] = lookupArguments(argument);
    if (name === 'get_param') {
      const parameter = first === undefined ? this.#workedOutName(argument, path) : first;
      if (typeof parameter === 'string' && !this.#knowsParameter(parameter, { place, path, at, isHidden }))
        return false;
    }
    if (name === 'get_resource' || name === 'get_attr') {
      if (typeof first === 'string') {
        place.onReference({
          function: name,
          resource: first,
          attribute: typeof second === 'string' ? second : undefined,
          ...(isHidden && { isHidden: true }),
          at,
          path,
        });
      } else if (argument.kind === 'call' || (argument.kind === 'list' && argument.items[0]?.kind === 'call')) {
        this.#refuse({
          code: 'InvalidArguments',
          message: `${path}: the name of the resource must be known before anything is created`,
          path,
          at,
        });
        return false;
      }
    }
    return this.#checkKnown(call, place, path);
  }

  /** The name of a parameter may itself be computed from parameters. */
  #workedOutName(argument: Expression, path: string): Json | typeof unknown | undefined {
    const name = argument.kind === 'list' ? argument.items[0] : argument;
    const value = name && this.#known(name, path);
    return value instanceof AnnealError ? undefined : value;
  }

  /**
   * Evaluates a call whose arguments are known at once, so that its mistakes are found before any resource is created. In an
   * output, a call that other values could make right is a warning, and the output shows the error.
   */
  #checkKnown(call: Extract<Expression, { kind: 'call' }>, place: Place, path: string): boolean {
    const error = this.#known(call, place.path);
    if (!(error instanceof AnnealError)) return true;
    const [found] = error.mistakes ?? [];
    // The name is reported where it stands.
    if (found?.code === unknownParameter) return true;
    const draft = { code: found?.code ?? 'InvalidArguments', message: error.message, path, at: call.source };
    const canBeRight = found?.code === 'InvalidValue' && !isWritten(call.arguments);
    if (!place.inOutput || !canBeRight || this.#options.scope.strict) {
      this.#refuse(draft);
      return false;
    }
    // The check of a call inside has warned of its own error.
    if (found.path === join(place.path, call.function))
      this.#options.mistakes.warn({
        ...draft,
        message: error.message.replace(/\.?$/, '. The output will have no value.'),
      });
    return true;
  }

  /** The value of an expression as far as it is known, or why it has none. */
  #known(expression: Expression, path: string): Json | typeof unknown | AnnealError {
    return attempt(() => evaluate(expression, this.#options.scope, path));
  }

  #knowsParameter(
    name: string,
    { place, path, at, isHidden }: { place: Place; path: string; at: PlanSource | undefined; isHidden: boolean },
  ): boolean {
    if (this.#options.parameters.has(name)) return true;
    const message = `The Parameter (${isHidden ? hiddenValue : name}) was not provided. (in ${path})`;
    const expected = listed(this.#options.parameters);
    const quoted = isHidden ? {} : { found: name, nearest: nearestName(name, this.#options.parameters) };
    const draft = { code: unknownParameter, message, path, at, expected, ...quoted };
    if (place.inOutput && !this.#options.scope.strict) {
      this.#options.mistakes.warn({ ...draft, message: `${message} The output will have no value.` });
      return true;
    }
    // Heat does not look at a condition until something uses it.
    if (path.startsWith('conditions.') && !this.#options.scope.strict) this.conditions.hold(draft);
    else this.#options.mistakes.add(draft);
    return false;
  }

  #file(argument: Expression, path: string, at: PlanSource | undefined): Expression | undefined {
    const name = this.#known(argument, path);
    if (name instanceof AnnealError) return this.#refuse({ code: 'InvalidArguments', message: name.message, path, at });
    if (typeof name !== 'string') {
      return this.#refuse({
        code: 'InvalidArguments',
        message: `${path}: Argument to "get_file" must be a string`,
        path,
        at,
      });
    }
    this.#options.used.file(name);
    const content = this.#options.files.get(name);
    if (content !== undefined) return { kind: 'literal', value: content };
    const isHidden = this.#hides(argument);
    const message = `No content found in the "files" section for get_file path: ${isHidden ? hiddenValue : name}`;
    const quoted = isHidden ? {} : { found: name, nearest: nearestName(name, this.#options.files.keys()) };
    this.#options.mistakes.add({ code: 'MissingFile', message, path, at, ...quoted });
    return undefined;
  }

  #hides(expression: Expression): boolean {
    return this.#options.scope.isHidden?.(expression) === true;
  }

  #refuseFunction(name: string, entry: MappingEntry, place: Place): undefined {
    const path = join(place.path, name);
    const message = `${path}: The function ${name} is not supported in this version of HOT.`;
    return this.#refuse({ code: 'UnknownFunction', message, path, at: entry.at });
  }

  /**
   * Warns of a key that looks like a misspelt function. In strict mode the key is a mistake. Heat treats such a map as
   * data, and data may have any key. So only keys that are very near to the name of a function count.
   */
  #looksMisspelt(name: string, entry: MappingEntry, place: Place): boolean {
    // `get_input` marks inputs in the configs of structured deployments.
    if (everyName.has(name) || name === 'get_input' || name.length > 40) return false;
    const candidates = [...everyName].filter((known) => known.length >= 8 && /[_:]/.test(known));
    const nearest = nearestName(name, candidates);
    const prefixed = /^(?:get_|str_|list_|Fn::)/.test(name);
    const close = nearest !== undefined && distance(name, nearest) <= 2;
    if (!prefixed && !close) return false;
    const path = join(place.path, name);
    const message = `${path}: The function ${name} is not known${nearest === undefined ? '' : `; the nearest is ${nearest}`}`;
    const draft = { code: 'UnknownFunction', path, at: entry.at, found: name, nearest };
    const { mistakes, scope } = this.#options;
    if (scope.strict) mistakes.add({ ...draft, message });
    else mistakes.warn({ ...draft, message: `${message}. It is treated as data.` });
    return true;
  }

  #refuse(mistake: MistakeDraft): undefined {
    this.#options.mistakes.add(mistake);
    return undefined;
  }
}

/** True when nothing in the expression is computed. A number or map that JSON cannot hold is written as a call. */
function isWritten(expression: Expression): boolean {
  switch (expression.kind) {
    case 'literal':
      return true;
    case 'list':
      return expression.items.every(isWritten);
    case 'map':
      return expression.entries.every(({ value }) => isWritten(value));
    case 'call':
      return [numberCall, mapCall].includes(expression.function) && isWritten(expression.arguments);
  }
}

function attempt<T>(evaluates: () => T): T | AnnealError {
  try {
    return evaluates();
  } catch (error) {
    if (error instanceof AnnealError) return error;
    throw error;
  }
}

function hasWrittenPermutations({ entries }: Extract<Expression, { kind: 'map' }>, version: Version): boolean {
  const value = entries.find(({ key }) => key === 'permutations')?.value;
  return version < '2017-09-01' || value === undefined || value.kind === 'literal';
}

/** The lookup that `get_context` represents. Undefined when its arguments are no name and no list. */
function contextRead(argument: Expression): { function: 'get_attr'; arguments: Expression } | undefined {
  const data: Expression = { kind: 'literal', value: 'data' };
  if (argument.kind === 'list') {
    const [first, ...path] = argument.items;
    return first && { function: 'get_attr', arguments: { kind: 'list', items: [first, data, ...path] } };
  }
  if (argument.kind !== 'literal') return undefined;
  const [name, ...path] = Array.isArray(argument.value) ? argument.value : [argument.value];
  return typeof name === 'string'
    ? { function: 'get_attr', arguments: { kind: 'literal', value: [name, 'data', ...path] } }
    : undefined;
}
