/** Reads one task of a workflow, with the defaults of all tasks. */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { mostSeconds } from '@anneal/contracts/readers/duration.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { WorkflowTask } from '@anneal/contracts/workflow.ts';
import { nearestName } from '../mistakes.ts';
import { checkInput, findAction, type KnownActions } from './ad-hoc.ts';
import { workflowActions } from './action-catalogue.ts';
import { readClause } from './clause.ts';
import { hasExpression } from './expression.ts';
import type { FieldPath, WorkflowReader } from './reader.ts';

const policies = ['retry', 'wait-before', 'wait-after', 'timeout', 'pause-before', 'concurrency', 'fail-on'];
const clauses = ['on-success', 'on-error', 'on-complete', 'on-skip'];
/** Keys of `task-defaults`. */
export const defaultKeys = [...policies, 'safe-rerun', 'requires', ...clauses];
const taskKeys = [
  'action',
  'workflow',
  'input',
  'description',
  'tags',
  'name',
  'publish',
  'publish-on-error',
  'publish-on-skip',
  'join',
  'with-items',
  'keep-result',
  'target',
  ...defaultKeys,
];

/** How tasks of this workflow are read. */
export interface TaskReading {
  readonly reader: WorkflowReader;
  readonly type: 'direct' | 'reverse';
  readonly defaults: JsonObject;
  /** The ad hoc actions that the task may call. */
  readonly actions: KnownActions;
}

/** Reads a task. Mistakes go to the reader; a wrong field has the value of an absent one. */
export function readTask(
  { reader, type, defaults, actions }: TaskReading,
  name: string,
  given: Json,
): WorkflowTask | undefined {
  const path: FieldPath = ['tasks', name];
  if (given === null || !isObject(given)) return reader.wrong(path, 'must be a map', { found: given });
  reader.keys(given, path, taskKeys);
  checkName(reader, name, path);
  const own = (key: string): Json | undefined => (Object.hasOwn(given, key) ? given[key] : undefined);
  const either = (key: string): Json | undefined => own(key) ?? defaults[key];
  refuseOtherType({ reader, type }, given, path);
  refuseUnserved(reader, { task: given, defaults }, path);
  const called = calledBy({ reader, actions }, given, path);
  const withItems = readItems(reader, own('with-items'), [...path, 'with-items']);
  if (own('concurrency') !== undefined && withItems.length === 0) {
    reader.wrong([...path, 'concurrency'], 'needs with-items');
  }
  const published = (key: string): JsonObject => {
    const map = reader.map(own(key), [...path, key]) ?? {};
    reader.expressions(map, [...path, key]);
    return map;
  };
  const clause = (key: string) => {
    if (type === 'reverse') return null;
    const read = readClause(reader, either(key), [...(own(key) === undefined ? ['task-defaults'] : path), key]);
    // A task never points to itself by the defaults.
    return read && own(key) === undefined ? { ...read, next: read.next.filter(({ to }) => to !== name) } : read;
  };
  const requires = [...reader.names(own('requires'), [...path, 'requires'])];
  const byDefault = type === 'reverse' ? reader.names(defaults['requires'], ['task-defaults', 'requires']) : [];
  const bounded = (key: string) => readSeconds(reader, either(key), [...path, key]);
  return {
    name,
    description: reader.text(own('description'), [...path, 'description']),
    ...called,
    publish: published('publish'),
    publish_on_error: published('publish-on-error'),
    publish_on_skip: published('publish-on-skip'),
    on_success: clause('on-success'),
    on_error: clause('on-error'),
    on_complete: clause('on-complete'),
    on_skip: clause('on-skip'),
    requires: [...new Set([...requires, ...byDefault.filter((other) => other !== name)])],
    join: readJoin(reader, own('join'), [...path, 'join']),
    with_items: withItems,
    concurrency: bounded('concurrency'),
    retry: readRetry(reader, either('retry'), [...path, 'retry']),
    wait_before: bounded('wait-before'),
    wait_after: bounded('wait-after'),
    timeout: bounded('timeout'),
    pause_before: readCondition(reader, either('pause-before'), [...path, 'pause-before']),
    fail_on: readCondition(reader, either('fail-on'), [...path, 'fail-on']),
    keep_result: own('keep-result') !== false,
  };
}

function checkName(reader: WorkflowReader, name: string, path: FieldPath): void {
  if (!/^[\w-]{1,255}$/.test(name)) {
    reader.wrong(path, 'a task name has 1 to 255 letters, digits, _ or -', { found: name });
  }
}

function refuseOtherType({ reader, type }: Pick<TaskReading, 'reader' | 'type'>, task: JsonObject, path: FieldPath) {
  const other = type === 'direct' ? ['requires'] : [...clauses, 'join'];
  for (const key of other) {
    if (Object.hasOwn(task, key)) reader.wrong([...path, key], `is not a key of a task in a ${type} workflow`);
  }
}

/** Refuses what this server would not do. */
function refuseUnserved(
  reader: WorkflowReader,
  { task, defaults }: { task: JsonObject; defaults: JsonObject },
  path: FieldPath,
): void {
  if (task['target'] !== undefined && task['target'] !== null) {
    reader.wrong([...path, 'target'], 'no executor has a name here; std.script names its host by its input host', {
      found: task['target'],
    });
  }
  const [safe, at] = Object.hasOwn(task, 'safe-rerun')
    ? [task['safe-rerun'], path]
    : [defaults['safe-rerun'], ['task-defaults']];
  if (safe === undefined || safe === null || safe === true) return;
  reader.wrong(
    [...at, 'safe-rerun'],
    'must be true, because a request is repeated after a crash, with the same id; std.http sends the id as Idempotency-Key',
    { found: safe },
  );
}

/** The action or the workflow of a task, with the input from both places. */
function calledBy({ reader, actions }: Pick<TaskReading, 'reader' | 'actions'>, task: JsonObject, path: FieldPath) {
  const action = task['action'] ?? null;
  const workflow = task['workflow'] ?? null;
  if (action !== null && workflow !== null) reader.wrong(path, 'has both action and workflow; give one of them');
  const key = workflow === null ? 'action' : 'workflow';
  const text = reader.text(workflow ?? action ?? 'std.noop', [...path, key]);
  reader.expressions(text, [...path, key]);
  const { name, inline } = inlineParameters(text);
  const given = task['input'] ?? {};
  reader.expressions(given, [...path, 'input']);
  const isMap = isObject(given);
  if (!isMap && !hasExpression(given)) {
    reader.wrong([...path, 'input'], 'must be a map, or an expression that gives a map', { found: given });
  }
  const input: Json = isMap ? { ...inline, ...given } : given;
  if (workflow !== null) return { action: null, workflow: name, input };
  if (hasExpression(name) || name === '') return { action: name, workflow: null, input };
  const found = findAction(name, actions);
  if (typeof found === 'string') {
    const known = [...workflowActions.map((each) => each.name), ...actions.keys()];
    reader.wrong([...path, 'action'], found, { found: name, nearest: nearestName(name, known) });
    return { action: name, workflow: null, input };
  }
  if (isObject(input)) checkInput({ reader, path: [...path, 'input'] }, found, input);
  const { definition, through } = found;
  return { action: definition.name, workflow: null, input, ...(through.length > 0 && { through: [...through] }) };
}

/** Splits `name k=v k2="v"`. */
function inlineParameters(text: string): { name: string; inline: JsonObject } {
  if (text.trimStart().startsWith('<%')) return { name: text, inline: {} };
  const [, name = '', rest = ''] = /^\s*(\S+)\s*(.*)$/s.exec(text) ?? [];
  const pairs = rest.matchAll(/([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|(<%.*?%>)|(\S+))/gs);
  const inline = toRecord(
    [...pairs].map(([, key = '', double, single, expression, bare]) => [
      key,
      double ?? single ?? expression ?? scalarOf(bare ?? ''),
    ]),
  );
  return { name, inline };
}

function scalarOf(text: string): Json {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

function readJoin(reader: WorkflowReader, value: Json | undefined, path: FieldPath): WorkflowTask['join'] {
  if (value === undefined || value === null) return null;
  if (value === 'all') return 'all';
  // Heat's resource type writes a number as text.
  const number =
    value === 'one' ? 1 : typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : numberOf(value);
  if (number !== undefined && Number.isInteger(number) && number >= 1) return number;
  reader.wrong(path, 'must be all, one, or an integer of at least 1', { found: value });
  return null;
}

function readItems(reader: WorkflowReader, value: Json | undefined, path: FieldPath): WorkflowTask['with_items'] {
  if (value === undefined || value === null) return [];
  const lines = Array.isArray(value) ? value : [value];
  return lines.flatMap((line): WorkflowTask['with_items'] => {
    const [, name, source] = (typeof line === 'string' && /^\s*(\w+)\s+in\s+(.+?)\s*$/s.exec(line)) || [];
    if (name === undefined || source === undefined) {
      reader.wrong(path, 'must be `name in <% list %>` or `name in [1, 2]`', { found: line });
      return [];
    }
    reader.expressions(source, path);
    if (hasExpression(source)) return [{ name, list: source }];
    const list = scalarOf(source);
    if (Array.isArray(list)) return [{ name, list }];
    reader.wrong(path, 'must name a list: an expression, or JSON', { found: line });
    return [];
  });
}

function readSeconds(reader: WorkflowReader, value: Json | undefined, path: FieldPath): Json {
  if (value === undefined || value === null) return null;
  if (hasExpression(value)) {
    reader.expressions(value, path);
    return value;
  }
  const seconds = numberOf(value);
  if (seconds !== undefined && Number.isInteger(seconds) && seconds >= 0 && seconds <= mostSeconds) return seconds;
  reader.wrong(path, `must be an integer from 0 to ${mostSeconds}, or an expression`, { found: value });
  return null;
}

function readCondition(reader: WorkflowReader, value: Json | undefined, path: FieldPath): Json {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  if (hasExpression(value)) {
    reader.expressions(value, path);
    return value;
  }
  reader.wrong(path, 'must be true, false or an expression', { found: value });
  return null;
}

function readRetry(reader: WorkflowReader, value: Json | undefined, path: FieldPath): WorkflowTask['retry'] {
  if (value === undefined || value === null) return null;
  const given = typeof value === 'string' ? inlineParameters(`retry ${value}`).inline : value;
  if (!isObject(given)) {
    reader.wrong(path, 'must be a map, or a text as in count=3 delay=5', { found: value });
    return null;
  }
  reader.keys(given, path, ['count', 'delay', 'break-on', 'continue-on']);
  for (const key of ['count', 'delay']) {
    if (given[key] === undefined) reader.wrong(path, `needs ${key}`);
  }
  const guard = (key: string): string | null => {
    const text = given[key];
    if (text === undefined || text === null) return null;
    if (typeof text === 'string' && hasExpression(text)) {
      reader.expressions(text, [...path, key]);
      return text;
    }
    reader.wrong([...path, key], 'must be an expression <% … %>', { found: text });
    return null;
  };
  const number = (key: string): Json => readSeconds(reader, given[key], [...path, key]);
  return {
    count: number('count'),
    delay: number('delay'),
    break_on: guard('break-on'),
    continue_on: guard('continue-on'),
  };
}
