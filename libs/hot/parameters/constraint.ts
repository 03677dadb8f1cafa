/** Constraints of parameters and properties: one rule each, with Heat's message for a violation. */
import type { Json } from '@anneal/contracts/json.ts';
import type { Constraint } from '@anneal/contracts/resource-type.ts';
import { checkCustom, type CustomChecking } from './custom-constraint.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { Pattern, PatternTooSlow } from '@anneal/python/pattern/pattern.ts';
import { type Reason, stated, why } from '../evaluate/reason.ts';
import { OutOfWork, EvaluationWork } from '../evaluate/work.ts';
import { numberText, pythonEqual, pythonText } from '@anneal/python/values/compare.ts';

interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Returns one reason per constraint that the value violates. The description of a constraint replaces its reason. */
export function checkConstraints(
  value: Json,
  constraints: readonly Constraint[],
  { skipCustom = false, work = new EvaluationWork(), ...custom }: Checking = {},
): Reason[] {
  return constraints.flatMap((constraint) => {
    try {
      const breach = findBreach(value, constraint, { ...custom, skipCustom, work });
      if (breach === undefined) return [];
      return [constraint.description === undefined ? breach : why`${stated(constraint.description)}`];
    } catch (error) {
      if (error instanceof OutOfWork) return [why`checking it ${stated(error.message)}`];
      throw error;
    }
  });
}

/** How far to check. */
export interface Checking extends CustomChecking {
  readonly skipCustom?: boolean | undefined;
  /** Work that checking may use: that of the whole stack. */
  readonly work?: EvaluationWork | undefined;
}

function findBreach(given: Json, constraint: Constraint, { skipCustom, work, ...asked }: Checking): Reason | undefined {
  const isNumeric =
    isExact(given) || (typeof given === 'boolean' && (constraint.range ?? constraint.modulo) !== undefined);
  const value = isNumeric ? Number(given) : given;
  // A few types of AWS have numbers as text.
  const amount = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  const {
    length,
    range,
    modulo,
    allowed_values: allowed,
    allowed_pattern: pattern,
    custom_constraint: custom,
  } = constraint;
  if (length) {
    const size = sizeOf(value);
    if (size !== undefined && outside(size, length))
      return why`length (${size}) is out of range (${boundsText(length)})`;
  }
  if (range && typeof amount === 'number' && outside(amount, range)) {
    return why`${numberText(amount)} is out of range (${boundsText(range)})`;
  }
  if (modulo && typeof amount === 'number' && remainder(amount, modulo.step) !== modulo.offset) {
    return why`${numberText(amount)} is not a multiple of ${stated(modulo.step)} with an offset of ${stated(modulo.offset)}`;
  }
  if (allowed) work?.spend((Array.isArray(value) ? value.length : 1) * allowed.length);
  if (allowed && !isAllowed(value, allowed)) {
    return notAllowed(value, allowed);
  }
  if (pattern !== undefined && typeof value === 'string' && !matches(value, pattern, work)) {
    return why`"${value}" does not match pattern "${stated(pattern)}"`;
  }
  if (custom !== undefined && !skipCustom) return checkCustom(custom, value, asked);
  return undefined;
}

const outside = (value: number, { min, max }: Bounds): boolean =>
  (min !== undefined && value < min) || (max !== undefined && value > max);
const boundsText = ({ min, max }: Bounds): Reason => why`min: ${stated(min ?? 'None')}, max: ${stated(max ?? 'None')}`;

/** The reason for a value that is none of those that a constraint lists. */
export const notAllowed = (value: Json, allowed: readonly Json[]): Reason =>
  why`${JSON.stringify(value)} is not an allowed value [${stated(allowed.map((item) => JSON.stringify(item)).join(', '))}]`;

/** Python's sign rule: the remainder has the sign of the step. */
const remainder = (value: number, step: number): number => (((value % step) + step) % step) + 0;

function sizeOf(value: Json): number | undefined {
  if (typeof value === 'string') return Array.from(value).length;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.keys(value).length;
}

function isAllowed(value: Json, allowed: readonly Json[]): boolean {
  if (Array.isArray(value)) return value.every((item) => allowed.some((other) => pythonEqual(item, other)));
  // Both sides are converted to the type of the value first, so that a boolean true matches the text 'True'.
  return allowed.some((other) => alike(value, other));
}

function alike(value: Json, other: Json): boolean {
  if (typeof value === 'string')
    return value === pythonText(other) || (typeof other === 'boolean' && value.toLowerCase() === String(other));
  if (typeof value === 'number' && typeof other === 'string') return other.trim() !== '' && Number(other) === value;
  if (typeof value === 'boolean' && typeof other === 'string') return other.toLowerCase() === String(value);
  return pythonEqual(value, other);
}

/** Cache of compiled patterns, because a type is checked for every resource of that type. */
const compiledPatterns = new Map<string, Pattern>();
/** Larger patterns are not cached: a short pattern can be large once its repetitions are expanded. */
const longestKept = 1000;

/** Compiles a pattern with Python's syntax. @throws SyntaxError, OutOfWork */
export function compilePattern(pattern: string, work = new EvaluationWork()): Pattern {
  const known = compiledPatterns.get(pattern);
  if (known) return known;
  work.characters(pattern.length);
  const made = new Pattern(pattern);
  work.spend(made.size / 2);
  if (made.size > longestKept) return made;
  if (compiledPatterns.size >= 1000) compiledPatterns.clear();
  compiledPatterns.set(pattern, made);
  return made;
}

/** A text does not match when matching it takes too long. */
function matches(value: string, pattern: string, work: EvaluationWork | undefined): boolean {
  try {
    return compilePattern(pattern, work).covers(value, work);
  } catch (error) {
    if (error instanceof PatternTooSlow || error instanceof SyntaxError) return false;
    throw error;
  }
}
