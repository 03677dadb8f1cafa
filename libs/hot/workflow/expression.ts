/**
 * Expressions in the texts of a workflow: `<% yaql %>`. A text that is one expression keeps the type of its value; in any
 * other text, the value becomes text. Each value has its own budget of work, so that no workflow keeps the event loop.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { why } from '../evaluate/reason.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { withTextKeys } from '@anneal/python/values/exact.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { EvaluationWork } from '../evaluate/work.ts';
import { type EvaluationLimits, limitSettings } from '../limits.ts';
import { evaluateYaql, parseYaql, YaqlFault, type Tree } from '../yaql/yaql.ts';

/** The values that an expression reads. The functions are `task('name')`, `env()`, `execution()`, `global('name')`. */
export interface WorkflowScope {
  /** `$`. */
  readonly data: Json;
  readonly env: JsonObject;
  readonly execution: JsonObject;
  readonly globals: JsonObject;
  /** A task by name; without a name, the current one. Null: there is none. */
  readonly task: (name: string | undefined) => Json;
}

/** The value, or the expression that has failed and the reason. */
export type EvaluatedInWorkflow =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly expression: string; readonly message: string };

/** The part of the operator's limit that one value may use, because no worker takes it: about 20 ms of one core. */
const workOfValue = 1 / 100;
/** A workflow takes more than a template by default. A greater limit of the operator counts here, too. */
const least = { elements: 10_000, memory: 4_000_000 };

function limitsOf({ elements, memory, work }: EvaluationLimits): EvaluationLimits {
  const greater = (limit: number, other: number): number => (limit < 0 ? limit : Math.max(limit, other));
  return { elements: greater(elements, least.elements), memory: greater(memory, least.memory), work };
}

/** The parts of a text: literal texts and expressions in turn. Undefined when an expression has no end. */
function partsOf(text: string): { literals: string[]; expressions: string[] } | undefined {
  const literals: string[] = [];
  const expressions: string[] = [];
  let at = 0;
  for (;;) {
    const begin = text.indexOf('<%', at);
    if (begin < 0) break;
    const end = text.indexOf('%>', begin);
    if (end < 0) return undefined;
    literals.push(text.slice(at, begin));
    expressions.push(text.slice(begin + 2, end).trim());
    at = end + 2;
  }
  literals.push(text.slice(at));
  return { literals, expressions };
}

/** True for a text that holds an expression. */
export const hasExpression = (value: Json): boolean => typeof value === 'string' && value.includes('<%');

/** The mistake of the first wrong expression in a text; undefined when all can be read. */
export function wrongExpression(text: string): string | undefined {
  if (/\{\{.*\}\}|\{%.*%\}/s.test(text)) return 'uses Jinja; write the expression in YAQL: <% … %>';
  const parts = partsOf(text);
  if (!parts) return 'has an expression without its end: %>';
  for (const expression of parts.expressions) {
    try {
      parseYaql(expression);
    } catch (error) {
      if (!(error instanceof YaqlFault)) throw error;
      return `has the expression <% ${expression} %>, which cannot be read: ${error.message}`;
    }
  }
  return undefined;
}

const trees = new Map<string, Tree>();
const mostTrees = 2000;

function treeOf(expression: string): Tree {
  const known = trees.get(expression);
  if (known) return known;
  const tree = parseYaql(expression);
  if (trees.size >= mostTrees) trees.clear();
  trees.set(expression, tree);
  return tree;
}

/** Evaluates all expressions in a value, also those in its maps and lists. Never throws for a wrong expression. */
export type EvaluateInWorkflow = (value: Json, scope: WorkflowScope) => EvaluatedInWorkflow;

/** Evaluates with the limits of the operator. */
export function workflowEvaluation(given: EvaluationLimits): EvaluateInWorkflow {
  const limits = limitsOf(given);
  return (value, scope) => evaluateWithin(value, scope, limits);
}

function evaluateWithin(value: Json, scope: WorkflowScope, limits: EvaluationLimits): EvaluatedInWorkflow {
  const most = limits.work * workOfValue;
  const work = new EvaluationWork(limits, { most });
  let at = '';
  const evaluate = (expression: string): Json => {
    at = expression;
    const result = evaluateYaql({
      tree: treeOf(expression),
      data: scope.data,
      work,
      functions: functionsOf(scope),
    });
    return withTextKeys(result);
  };
  try {
    return { ok: true, value: within(value, evaluate) };
  } catch (error) {
    if (!(error instanceof YaqlFault)) throw error;
    const isLong = error.message.includes('too much work');
    const message = isLong
      ? `takes too much work: one value of a workflow may make ${most} values (a hundredth of ${limitSettings.work}, ${limits.work})`
      : error.message;
    return { ok: false, expression: at, message };
  }
}

function within(value: Json, evaluate: (expression: string) => Json): Json {
  if (typeof value === 'string') return inText(value, evaluate);
  if (Array.isArray(value)) return value.map((item) => within(item, evaluate));
  if (!isObject(value)) return value;
  return toRecord(Object.entries(value).map(([key, item]) => [key, within(item, evaluate)] as const));
}

function inText(text: string, evaluate: (expression: string) => Json): Json {
  const parts = text.includes('<%') ? partsOf(text) : undefined;
  if (!parts || parts.expressions.length === 0) return text;
  const { literals, expressions } = parts;
  if (expressions.length === 1 && literals.every((literal) => literal.trim() === ''))
    return evaluate(expressions[0] ?? '');
  return literals.map((literal, index) => literal + textOf(expressions[index], evaluate)).join('');
}

function textOf(expression: string | undefined, evaluate: (expression: string) => Json): string {
  if (expression === undefined) return '';
  const value = evaluate(expression);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const functionsOf = ({ env, execution, globals, task }: WorkflowScope) => ({
  env: () => env,
  execution: () => execution,
  task: (name: Json | undefined) => task(typeof name === 'string' ? name : undefined),
  global: (name: Json | undefined) =>
    typeof name === 'string' && Object.hasOwn(globals, name) ? (globals[name] ?? null) : null,
  json_dump: (value: Json | undefined) => JSON.stringify(value ?? null),
  json_parse: (text: Json | undefined) => parsed(text),
});

function parsed(text: Json | undefined): Json {
  try {
    return parseExact(typeof text === 'string' ? text : '');
  } catch {
    throw new YaqlFault(why`json_parse got a text that is not JSON`);
  }
}
