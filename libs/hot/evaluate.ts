/** Evaluates expressions. An unknown value makes only what depends on it unknown. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression, PlanSource } from '@anneal/contracts/plan.ts';
import { type Scope, type TemplateFunction, Wrong, WrongForm } from './functions/function.ts';
import { functions } from './functions/table.ts';
import { join } from './mistakes.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import { mapCall, mapOfPairs, numberCall, withTextKeys } from '@anneal/python/values/exact.ts';
import { fromText } from '@anneal/python/values/number.ts';
import { holdsUnknown, type PartialValue, settledValue, type Unknown, unknown } from './evaluate/unknown.ts';
import { OutOfWork, type EvaluationWork } from './evaluate/work.ts';

export type { Scope } from './functions/function.ts';
export { type Unknown, unknown } from './evaluate/unknown.ts';

/**
 * @throws AnnealError InvalidTemplate with one mistake: the path of the function that could not take its arguments, and
 * the code `InvalidValue` when other values could be right. It quotes no hidden value.
 */
export function evaluate(expression: Expression, scope: Scope, path = ''): Json | Unknown {
  return withTextKeys(settledValue(evaluateParts(expression, scope, path)));
}

/** Evaluates as {@link evaluate} does, but a list or map with an unknown part keeps its other parts. */
export function evaluateParts(expression: Expression, scope: Scope, path = ''): PartialValue {
  return parts(expression, { scope, work: scope.work }, path);
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

function call(expression: Call, run: Run, path: string): PartialValue {
  const { function: name } = expression;
  if (name === numberCall) return fromText((expression.arguments as { value: string }).value);
  if (name === mapCall) return mapOfPairs(parts(expression.arguments, run, path) as PartialValue[][]);
  const definition = functions.get(name);
  const here = { path, source: expression.source };
  if (!definition) throw refused('UnknownFunction', `The function ${name} is not known`, here);
  const argument = parts(expression.arguments, run, path);
  try {
    run.work.look(argument);
    const value = holdsUnknown(argument) ? unknown : valueOf(definition, argument as Json, run);
    // A lookup returns more than its arguments, and every function after it walks through the result.
    if (definition.looksUp) run.work.look(value);
    return value;
  } catch (error) {
    if (error instanceof Wrong || error instanceof AnnealError) {
      const code = error instanceof WrongForm ? 'InvalidArguments' : 'InvalidValue';
      if (run.scope.isHidden?.(expression)) throw refused(code, maskedReason(error, expression, run.scope), here);
      if (error instanceof Wrong) throw refused(code, error.message, here);
    }
    if (error instanceof OutOfWork) throw refused('TooMuchWork', `"${name}" ${error.message}`, here);
    // A text longer than JavaScript can hold, or a value too deep for the call stack.
    if (error instanceof RangeError)
      throw refused('TooMuchWork', `"${name}" makes too large a value: ${error.message}`, here);
    throw error;
  }
}

type Call = Extract<Expression, { kind: 'call' }>;

/** The reason of a refusal, without the values that it quotes: one of them may be hidden. */
function maskedReason(error: Error, { function: name, arguments: argument }: Call, scope: Scope): string {
  const program = functions.get(name)?.program;
  const words = program === undefined ? undefined : partNamed(argument, program);
  if (error instanceof Wrong && !(words && scope.isHidden?.(words))) return error.reason.masked;
  return `"${name}" cannot take its arguments. The reason is not shown because it could quote a hidden value`;
}

/** The part of a written map; the whole argument where it is not written out. */
const partNamed = (argument: Expression, key: string): Expression =>
  (argument.kind === 'map' ? argument.entries.find((entry) => entry.key === key)?.value : undefined) ?? argument;

function valueOf(definition: TemplateFunction, argument: Json, { scope, work }: Run): PartialValue {
  const value = definition.evaluate(argument, scope, work);
  return value === undefined ? unknown : value;
}

function refused(
  code: string,
  message: string,
  { path, source }: { path: string; source: PlanSource | undefined },
): AnnealError {
  const text = `${path}: ${message}`;
  return new AnnealError('InvalidTemplate', text, { mistakes: [{ code, message: text, path, ...source }] });
}
