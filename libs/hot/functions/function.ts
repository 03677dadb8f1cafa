/** The evaluator's interface to a function of the language. Its versions are in `reference.ts`. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import { numberOf } from '@anneal/python/values/number.ts';
import type { PartialValue } from '../evaluate/unknown.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import { type Reason, stated, why } from '../evaluate/reason.ts';

/** The values outside the arguments that a function can read. */
export interface Scope {
  /** The value of heat_template_version: functions differ between versions. */
  readonly templateVersion: string;
  /** Undefined when not known yet. */
  parameter(name: string): Json | undefined;
  /** True for a name that no parameter has. Reading it is an error, because no later value can make it known. */
  lacks?(parameter: string): boolean;
  /** True when input that Heat silently accepts is an error: a path that leads nowhere, a null among texts. */
  readonly strict?: boolean;
  /** The time of the request, which a property with the constraint `expiration` must be after. */
  readonly now?: Date | undefined;
  /** In a nested template: a part of the resource that the nested stack implements. Undefined when not nested. */
  facade?(part: 'metadata' | 'deletion_policy' | 'update_policy'): Json | undefined;
  /** Result of `get_resource`; undefined while the resource does not exist. */
  reference(resource: string): Json | undefined;
  /** All attributes of the resource; undefined while it does not exist. */
  attribute(resource: string): JsonObject | undefined;
  /**
   * Reads an attribute when more is known than a plain map of attributes can say: unknown parts, computed names.
   * Undefined: nothing more is known, and `attribute` has all of it.
   */
  read?(resource: string, attribute: string, path: readonly Json[]): PartialValue | undefined;
  /**
   * True when the value of the expression could show a secret, because it reads a hidden parameter or a sealed
   * attribute. An error quotes no such value. The origin decides, not the text: a short secret occurs in any text.
   */
  isHidden?(expression: Expression): boolean;
  /** Work budget, of a whole stack or of this evaluation, with the operator's limits. */
  readonly work: EvaluationWork;
}

/** A function of the language. */
export interface TemplateFunction {
  readonly name: string;
  /** The argument must be literal, not the result of a function. */
  readonly written?: true;
  /** Key of the argument that is a program. A reason states its words, which no value is made of unless it is hidden itself. */
  readonly program?: string;
  /** The result comes from outside the arguments. */
  readonly looksUp?: true;
  /**
   * Evaluates the function on known arguments. Returns undefined when a value that it looks up is not known yet. The
   * caller has paid for reading the argument; the function pays out of `work` for anything that grows beyond it.
   * @throws Wrong
   */
  evaluate(argument: Json, scope: Scope, work: EvaluationWork): PartialValue | undefined;
}

/** The arguments are wrong. The evaluator adds the path. */
export class Wrong extends Error {
  readonly reason: Reason;

  constructor(reason: Reason) {
    super(reason.full);
    this.reason = reason;
  }
}

/** The form of the arguments is wrong: the length of their list, the keys of their map. No value makes it right. */
export class WrongForm extends Wrong {}

/** Refuses an argument. @throws Wrong with this reason */
export function wrong(reason: Reason): never {
  throw new Wrong(reason);
}

/** Refuses the form of the arguments. @throws WrongForm with this reason */
export function wrongForm(reason: Reason): never {
  throw new WrongForm(reason);
}

/** Reports input that is accepted silently outside strict mode. */
export function unnoticed({ strict }: Scope, what: () => Reason): void {
  if (strict) wrong(why`strict: ${what()}`);
}

/** The argument as a list. @throws WrongForm for another kind or length */
export function listArgument(
  argument: Json,
  { name, least, most }: { name: string; least: number; most?: number },
): Json[] {
  if (!Array.isArray(argument) || argument.length < least || argument.length > (most ?? Infinity)) {
    wrongForm(why`Incorrect arguments to "${stated(name)}" should be a list of ${stated(count(least, most))} items`);
  }
  return argument;
}
const count = (least: number, most: number | undefined): string =>
  most === undefined ? `at least ${least}` : least === most ? String(least) : `${least} to ${most}`;

/** The argument as a map that has these keys. @throws WrongForm otherwise */
export function mapArgument(argument: Json, name: string, keys: readonly string[]): JsonObject {
  if (!isPlainObject(argument)) {
    wrongForm(why`Arguments to "${stated(name)}" must be a map`);
  }
  for (const key of keys) {
    if (!Object.hasOwn(argument, key))
      wrongForm(why`"${stated(name)}" needs the keys ${stated(keys.join(' and '))}; ${stated(key)} is missing`);
  }
  return argument;
}

/** Returns an own entry of a map, or undefined, because `constructor` is an ordinary name. */
export function own(map: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** True for the values that Python counts as false. */
export function isEmpty(value: Json): boolean {
  if (numberOf(value) !== undefined) return numberOf(value) === 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === null || value === false || value === '';
}

/** Python's `int(value)`; undefined when it fails. */
export function wholeNumberArgument(value: Json): number | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'string')
    return /^\s*[-+]?\d+(?:_\d+)*\s*$/.test(value) ? Number(value.replaceAll('_', '')) : undefined;
  const number = numberOf(value);
  return number === undefined ? undefined : Math.trunc(number);
}
