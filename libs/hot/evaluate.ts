/** Expressions to values. What is not known yet makes everything that needs it unknown, and nothing else. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { type Scope as FunctionScope, unnoticed, Wrong } from './functions/function.ts';
import { functions } from './functions/table.ts';
import { join } from './mistakes.ts';
import { shown, toRecord } from './node.ts';
import { mapCall, mapOfPairs, numberCall, plain } from './exact.ts';
import { fromText } from './number.ts';
import { holdsUnknown, type Partial, settled, type Unknown, unknown } from './unknown.ts';

export { type Unknown, unknown } from './unknown.ts';

export interface Scope extends FunctionScope {
  /**
   * Reads an attribute where more is known than a map of them says: parts that are unknown, names that are worked out.
   * Undefined: nothing more is known, `attribute` has it all.
   */
  read?(resource: string, attribute: string, path: readonly Json[]): Partial | undefined;
}

/** @throws AnnealError InvalidTemplate with the path of the function that could not take its arguments. */
export function evaluate(expression: Expression, scope: Scope, path = ''): Json | Unknown {
  return plain(settled(evaluateParts(expression, scope, path)));
}

/** As {@link evaluate}, but a list or map of which a part is unknown keeps its other parts. */
export function evaluateParts(expression: Expression, scope: Scope, path = ''): Partial {
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'list':
      return expression.items.map((item, index) => evaluateParts(item, scope, join(path, index)));
    case 'map':
      return toRecord(
        expression.entries.map(({ key, value }) => [key, evaluateParts(value, scope, join(path, key))] as const),
      );
    case 'call':
      return call(expression, scope, join(path, expression.function));
  }
}

function call(expression: Extract<Expression, { kind: 'call' }>, scope: Scope, path: string): Partial {
  if (expression.function === numberCall) return fromText((expression.arguments as { value: string }).value);
  if (expression.function === mapCall)
    return mapOfPairs(evaluateParts(expression.arguments, scope, path) as Partial[][]);
  const definition = functions.get(expression.function);
  if (!definition) throw refused(path, `The function ${expression.function} is not known`, expression);
  const argument = evaluateParts(expression.arguments, scope, path);
  if (holdsUnknown(argument)) return unknown;
  try {
    const read = readAttribute(expression.function, argument as Json, scope);
    if (read !== undefined) return read;
    const value = definition.evaluate(argument as Json, scope);
    return value === undefined ? unknown : value;
  } catch (error) {
    if (error instanceof Wrong) throw refused(path, error.message, expression);
    throw error;
  }
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
