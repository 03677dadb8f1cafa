/** Expressions to values. What is not known yet makes everything that needs it unknown, and nothing else. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { type Scope as FunctionScope, type TemplateFunction, unnoticed, Wrong } from './functions/function.ts';
import { functions } from './functions/table.ts';
import { join } from './mistakes.ts';
import { shown, toRecord } from './node.ts';
import { mapCall, mapOfPairs, numberCall, plain } from './exact.ts';
import { fromText } from './number.ts';
import { holdsUnknown, type Partial, settled, type Unknown, unknown } from './unknown.ts';
import { OutOfWork, Work } from './work.ts';

export { type Unknown, unknown } from './unknown.ts';

export interface Scope extends FunctionScope {
  /**
   * Reads an attribute where more is known than a map of them says: parts that are unknown, names that are worked out.
   * Undefined: nothing more is known, `attribute` has it all.
   */
  read?(resource: string, attribute: string, path: readonly Json[]): Partial | undefined;
  /** The purse of a whole stack; each evaluation has its own when absent. */
  readonly work?: Work;
}

/** @throws AnnealError InvalidTemplate with the path of the function that could not take its arguments. */
export function evaluate(expression: Expression, scope: Scope, path = ''): Json | Unknown {
  return plain(settled(evaluateParts(expression, scope, path)));
}

/** As {@link evaluate}, but a list or map of which a part is unknown keeps its other parts. */
export function evaluateParts(expression: Expression, scope: Scope, path = ''): Partial {
  return parts(expression, { scope, work: scope.work ?? new Work() }, path);
}

interface Run {
  readonly scope: Scope;
  readonly work: Work;
}

function parts(expression: Expression, run: Run, path: string): Partial {
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'list':
      return expression.items.map((item, index) => parts(item, run, join(path, index)));
    case 'map':
      return toRecord(expression.entries.map(({ key, value }) => [key, parts(value, run, join(path, key))] as const));
    case 'call':
      return call(expression, run, join(path, expression.function));
  }
}

function call(expression: Extract<Expression, { kind: 'call' }>, run: Run, path: string): Partial {
  const { function: name } = expression;
  if (name === numberCall) return fromText((expression.arguments as { value: string }).value);
  if (name === mapCall) return mapOfPairs(parts(expression.arguments, run, path) as Partial[][]);
  const definition = functions.get(name);
  if (!definition) throw refused(path, `The function ${name} is not known`, expression);
  const argument = parts(expression.arguments, run, path);
  try {
    run.work.look(argument);
    const value = holdsUnknown(argument) ? unknown : valueOf(definition, argument as Json, run);
    // What looks something up gives more than it takes, and everybody after it walks through that.
    if (definition.looksUp) run.work.look(value);
    return value;
  } catch (error) {
    if (error instanceof Wrong) throw refused(path, error.message, expression);
    if (error instanceof OutOfWork) throw refused(path, `"${name}" ${error.message}`, expression);
    // Text longer than the machine can hold, a value deeper than its stack.
    if (error instanceof RangeError)
      throw refused(path, `"${name}" makes too large a value: ${error.message}`, expression);
    throw error;
  }
}

function valueOf(definition: TemplateFunction, argument: Json, { scope, work }: Run): Partial {
  const read = readAttribute(definition.name, argument, scope);
  if (read !== undefined) return read;
  const value = definition.evaluate(argument, scope, work);
  return value === undefined ? unknown : value;
}

function readAttribute(name: string, argument: Json, scope: Scope): Partial | undefined {
  if (name !== 'get_attr' || !scope.read || !Array.isArray(argument)) return undefined;
  const [resource, attribute, ...path] = argument;
  if (typeof resource !== 'string' || typeof attribute !== 'string') return undefined;
  const found = scope.read(resource, attribute, path);
  if (found === null) unnoticed(scope, () => `"get_attr" finds nothing under ${argument.map(shown).join(', ')}`);
  return found;
}

function refused(path: string, message: string, { source }: Extract<Expression, { kind: 'call' }>): AnnealError {
  const text = `${path}: ${message}`;
  return new AnnealError('InvalidTemplate', text, {
    mistakes: [{ code: 'InvalidArguments', message: text, path, ...source }],
  });
}
