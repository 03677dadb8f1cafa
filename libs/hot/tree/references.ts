/** Finds what an expression reads, so that only those values are sent, and the use of hidden values is known. */
import type { Expression, PlanParameter } from '@anneal/contracts/plan.ts';
import { lookupArguments } from '../evaluate/attribute-path.ts';

/** The names that an expression reads. */
export interface References {
  /** Read with get_resource. */
  readonly resources: ReadonlySet<string>;
  /** Read with get_attr: attributes by resource. `*` means all attributes, or a name that is computed. */
  readonly attributes: ReadonlyMap<string, ReadonlySet<string>>;
  /** `*` means a name that is computed, so any parameter. */
  readonly parameters: ReadonlySet<string>;
}

const kept = new WeakMap<Expression, References>();
const none: References = { resources: new Set(), attributes: new Map(), parameters: new Set() };

/** As {@link referencesOf}, for an expression that is asked for often. Plans are shared and never change. */
export function keptReferences(expression: Expression): References {
  if (expression.kind === 'literal') return none;
  const before = kept.get(expression);
  if (before) return before;
  const found = referencesOf(expression);
  kept.set(expression, found);
  return found;
}

/** Whether an expression with these references reads a hidden one of the parameters. */
export function readsHidden(
  { parameters: read }: Pick<References, 'parameters'>,
  parameters: Readonly<Record<string, PlanParameter>>,
): boolean {
  const isHidden = (name: string): boolean => Object.hasOwn(parameters, name) && parameters[name]?.hidden === true;
  if (read.has('*')) return Object.keys(parameters).some(isHidden);
  for (const name of read) if (isHidden(name)) return true;
  return false;
}

/** The references of all these expressions together. */
export function referencesOf(...expressions: readonly Expression[]): References {
  const resources = new Set<string>();
  const attributes = new Map<string, Set<string>>();
  const parameters = new Set<string>();

  const visit = (expression: Expression): void => {
    if (expression.kind === 'list') for (const item of expression.items) visit(item);
    else if (expression.kind === 'map') for (const { value } of expression.entries) visit(value);
    else if (expression.kind === 'call') {
      const [first, second] = lookupArguments(expression.arguments);
      if (typeof first === 'string') note(expression.function, first, typeof second === 'string' ? second : '*');
      else if (expression.function === 'get_param') parameters.add('*');
      visit(expression.arguments);
    }
  };
  const note = (name: string, first: string, second: string): void => {
    if (name === 'get_param') parameters.add(first);
    else if (name === 'get_resource') resources.add(first);
    else if (name === 'Ref') {
      resources.add(first);
      parameters.add(first);
    } else if (name === 'get_attr') {
      const names = attributes.get(first) ?? new Set();
      attributes.set(first, names.add(second));
    }
  };
  for (const expression of expressions) visit(expression);
  return { resources, attributes, parameters };
}
