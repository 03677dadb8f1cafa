/** Evaluates expressions. An unknown value makes only what depends on it unknown. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { type Scope, type TemplateFunction, Wrong } from './functions/function.ts';
import { functions } from './functions/table.ts';
import { join } from './syntax/mistakes.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import { mapCall, mapOfPairs, numberCall, plain } from '@anneal/python/values/exact.ts';
import { fromText } from '@anneal/python/values/number.ts';
import { holdsUnknown, type PartialValue, settledValue, type Unknown, unknown } from './evaluate/unknown.ts';
import { OutOfWork, EvaluationWork } from './evaluate/work.ts';

export type { Scope } from './functions/function.ts';
export { type Unknown, unknown } from './evaluate/unknown.ts';

/** @throws AnnealError InvalidTemplate with the path of the function that could not take its arguments; no hidden value. */
export function evaluate(expression: Expression, scope: Scope, path = ''): Json | Unknown {
  return plain(settledValue(evaluateParts(expression, scope, path)));
}

/** Evaluates as {@link evaluate} does, but a list or map with an unknown part keeps its other parts. */
export function evaluateParts(expression: Expression, scope: Scope, path = ''): PartialValue {
  return parts(expression, { scope, work: scope.work ?? new EvaluationWork() }, path);
}

interface Run {
  readonly scope: Scope;
  readonly work: EvaluationWork;
}

function parts(expression: Expression, run: Run, path: string): PartialValue {
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

function call(expression: Extract<Expression, { kind: 'call' }>, run: Run, path: string): PartialValue {
  const { function: name } = expression;
  if (name === numberCall) return fromText((expression.arguments as { value: string }).value);
  if (name === mapCall) return mapOfPairs(parts(expression.arguments, run, path) as PartialValue[][]);
  const definition = functions.get(name);
  if (!definition) throw refused(path, `The function ${name} is not known`, expression);
  const argument = parts(expression.arguments, run, path);
  try {
    run.work.look(argument);
    const value = holdsUnknown(argument) ? unknown : valueOf(definition, argument as Json, run);
    // A lookup returns more than its arguments, and every function after it walks through the result.
    if (definition.looksUp) run.work.look(value);
    return value;
  } catch (error) {
    if (error instanceof Wrong || error instanceof AnnealError) {
      if (run.scope.isHidden?.(expression)) throw refused(path, notShown(name), expression);
      throw error instanceof Wrong ? refused(path, error.message, expression) : error;
    }
    if (error instanceof OutOfWork) throw refused(path, `"${name}" ${error.message}`, expression);
    // A text longer than JavaScript can hold, or a value too deep for the call stack.
    if (error instanceof RangeError)
      throw refused(path, `"${name}" makes too large a value: ${error.message}`, expression);
    throw error;
  }
}

/** The reason of a refusal that could quote a hidden value. */
const notShown = (name: string): string =>
  `"${name}" cannot take its arguments. The reason is not shown because it could quote a hidden value`;

function valueOf(definition: TemplateFunction, argument: Json, { scope, work }: Run): PartialValue {
  const value = definition.evaluate(argument, scope, work);
  return value === undefined ? unknown : value;
}

function refused(path: string, message: string, { source }: Extract<Expression, { kind: 'call' }>): AnnealError {
  const text = `${path}: ${message}`;
  return new AnnealError('InvalidTemplate', text, {
    mistakes: [{ code: 'InvalidArguments', message: text, path, ...source }],
  });
}
