/**
 * Reads workflows from a text of the Mistral v2 language, and checks them. Every mistake is named with its path, its line
 * and the rule; a text with one mistake gives no workflow.
 */
import { looseUuid } from '@anneal/contracts/readers/uuid.ts';
import { withTextKeys } from '@anneal/python/values/exact.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import {
  engineCommands,
  type AdHocAction,
  type WorkflowLink,
  type WorkflowSpec,
  type WorkflowTask,
} from '@anneal/contracts/workflow.ts';
import type { Mistake } from '@anneal/contracts/errors.ts';
import { toExact } from '@anneal/python/yaml/node.ts';
import { listed, Mistakes, nearestName } from '../mistakes.ts';
import { parse } from '../syntax/parse.ts';
import { checkBase, readAdHocAction, type KnownActions } from './ad-hoc.ts';
import { readInput } from './input.ts';
import { childOf, requireVersion, WorkflowReader, type FieldPath } from './reader.ts';
import { defaultKeys, readTask } from './task.ts';

/** The workflows of a text, or its mistakes. */
export type ParsedWorkflows =
  | {
      readonly ok: true;
      readonly workflows: WorkflowSpec[];
      /** The ad hoc actions of a workbook, with its name in front. */
      readonly actions: AdHocAction[];
    }
  | { readonly ok: false; readonly mistakes: Mistake[] };

const workflowKeys = [
  'description',
  'tags',
  'type',
  'input',
  'output',
  'output-on-error',
  'vars',
  'task-defaults',
  'tasks',
];
/** A workflow with more tasks is refused. */
export const mostTasks = 500;

/**
 * Reads the workflows of a text: `version: '2.0'` and one entry per workflow, or a workbook. @param known the ad hoc
 * actions of the project
 */
export function parseWorkflows(text: string, known: KnownActions = new Map()): ParsedWorkflows {
  const mistakes = new Mistakes();
  const node = parse({ text, file: undefined, subject: 'workflows:', mistakes });
  const reader = new WorkflowReader(mistakes, node);
  const document = node ? withTextKeys(toExact(node)) : null;
  if (node && !isObject(document)) reader.wrong([], 'must be a map: version, then one entry for each workflow');
  if (mistakes.any || !isObject(document)) return { ok: false, mistakes: mistakes.all() };
  requireVersion(reader, document);
  const book = isObject(document['workflows']) || 'actions' in document ? readBook(reader, document, known) : undefined;
  const entries = book ? { ...book.workflows } : { ...document };
  if (!book) delete entries['version'];
  const names = Object.keys(entries);
  if (names.length === 0) reader.wrong([], 'has no workflow; write its name as a key beside version');
  const inside = book ? childOf(node, 'workflows') : node;
  const workflows = names.flatMap((name) => {
    const inner = new WorkflowReader(mistakes, childOf(inside, name));
    const reading = { reader: inner, actions: book ? new Map([...known, ...book.known]) : known };
    return readWorkflow(reading, book ? `${book.name}.${name}` : name, entries[name] ?? null) ?? [];
  });
  return mistakes.any ? { ok: false, mistakes: mistakes.all() } : { ok: true, workflows, actions: book?.actions ?? [] };
}

/** A workbook: its workflows and actions have names `<workbook>.<name>`; inside, the short names of actions work too. */
interface Book {
  readonly name: string;
  readonly workflows: JsonObject;
  readonly actions: AdHocAction[];
  readonly known: KnownActions;
}

function readBook(reader: WorkflowReader, document: JsonObject, outside: KnownActions): Book {
  reader.keys(document, [], ['version', 'name', 'description', 'tags', 'actions', 'workflows']);
  const name = reader.text(document['name'], ['name']);
  if (name === '') reader.wrong(['name'], 'a workbook needs a name');
  const given = reader.map(document['actions'], ['actions']) ?? {};
  const short = Object.keys(given).flatMap((key) => {
    const action = readAdHocAction({ reader, path: ['actions', key] }, key, given[key] ?? null);
    if (!action) return [];
    const base = Object.hasOwn(given, action.base) ? `${name}.${action.base}` : action.base;
    return [{ key, action: { ...action, name: `${name}.${key}`, base } }];
  });
  const actions = short.map(({ action }) => action);
  const known = new Map([
    ...short.map(({ key, action }) => [key, action] as const),
    ...actions.map((action) => [action.name, action] as const),
  ]);
  const all = new Map([...outside, ...known]);
  for (const { key, action } of short) checkBase({ reader, path: ['actions', key] }, action, all);
  return { name, workflows: reader.map(document['workflows'], ['workflows']) ?? {}, actions, known };
}

/** Reads one workflow from a map, for example from the properties of a resource. */
export function workflowFrom(name: string, definition: JsonObject, known: KnownActions = new Map()): ParsedWorkflows {
  const mistakes = new Mistakes();
  const reading = { reader: new WorkflowReader(mistakes, undefined), actions: known };
  const workflow = readWorkflow(reading, name, definition);
  if (mistakes.any || !workflow) return { ok: false, mistakes: mistakes.all() };
  return { ok: true, workflows: [workflow], actions: [] };
}

function readWorkflow(
  { reader, actions }: { reader: WorkflowReader; actions: KnownActions },
  name: string,
  given: Json,
): WorkflowSpec | undefined {
  if (!isObject(given)) return reader.wrong([], `${name} must be a map with the key tasks`, { found: given });
  if (name.length > 255 || name.trim() === '')
    reader.wrong([], 'a workflow name has 1 to 255 characters', { found: name });
  if (looseUuid.test(name)) reader.wrong([], 'a workflow name must not look like an id', { found: name });
  reader.keys(given, [], workflowKeys);
  const type = given['type'] ?? 'direct';
  if (type !== 'direct' && type !== 'reverse') reader.wrong(['type'], 'must be direct or reverse', { found: type });
  const map = (key: string): JsonObject => {
    const value = reader.map(given[key], [key]) ?? {};
    reader.expressions(value, [key]);
    return value;
  };
  const defaults = reader.map(given['task-defaults'], ['task-defaults']) ?? {};
  reader.keys(defaults, ['task-defaults'], defaultKeys);
  const tasks = reader.map(given['tasks'], ['tasks']) ?? {};
  const names = Object.keys(tasks);
  if (names.length === 0) reader.wrong(['tasks'], 'needs at least one task');
  if (names.length > mostTasks)
    return reader.wrong(['tasks'], `has ${names.length} tasks; at most ${mostTasks} are allowed`);
  const reading = { reader, type: type === 'reverse' ? 'reverse' : 'direct', defaults, actions } as const;
  const spec: WorkflowSpec = {
    name,
    description: reader.text(given['description'], ['description']),
    tags: reader.names(given['tags'], ['tags']),
    type: reading.type,
    input: readInput(reader, given['input'], ['input']),
    vars: map('vars'),
    output: given['output'] === undefined ? null : map('output'),
    output_on_error: given['output-on-error'] === undefined ? null : map('output-on-error'),
    tasks: names.flatMap((task) => readTask(reading, task, tasks[task] ?? null) ?? []),
  };
  if (reading.type === 'direct') checkLinks(reader, spec);
  else checkRequires(reader, spec);
  return spec;
}

/** The links of a task with the clause of each. */
export function linksOf(task: WorkflowTask): { clause: string; link: WorkflowLink }[] {
  const clauses = {
    'on-success': task.on_success,
    'on-error': task.on_error,
    'on-complete': task.on_complete,
    'on-skip': task.on_skip,
  };
  return Object.entries(clauses).flatMap(([clause, found]) => (found?.next ?? []).map((link) => ({ clause, link })));
}

function checkLinks(reader: WorkflowReader, spec: WorkflowSpec): void {
  const names = new Set(spec.tasks.map(({ name }) => name));
  const inbound = new Map<string, Set<string>>();
  for (const task of spec.tasks) {
    for (const { clause, link } of linksOf(task)) {
      if (names.has(link.to)) inbound.set(link.to, (inbound.get(link.to) ?? new Set()).add(task.name));
      else if (!(engineCommands as readonly string[]).includes(link.to)) {
        unknownTask(reader, { path: ['tasks', task.name, clause], name: link.to, names });
      }
    }
  }
  for (const { name, join } of spec.tasks) {
    const count = inbound.get(name)?.size ?? 0;
    const path: FieldPath = ['tasks', name, 'join'];
    if (join !== null && count === 0) reader.wrong(path, 'no task links to this task, so it never runs');
    else if (typeof join === 'number' && join > count) {
      reader.wrong(path, `waits for ${join} tasks, but only ${count} link to this task`, { found: join });
    }
  }
  if (spec.tasks.length > 0 && spec.tasks.every(({ name }) => inbound.has(name))) {
    reader.wrong(['tasks'], 'no task can start: another task links to each of them');
  }
}

function unknownTask(
  reader: WorkflowReader,
  { path, name, names }: { path: FieldPath; name: string; names: Iterable<string> },
): void {
  const known = [...names, ...engineCommands];
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `the tasks are ${listed(names)}` : `did you mean ${nearest}?`;
  reader.wrong(path, `there is no task ${name}; ${hint}`, { found: name, nearest });
}

function checkRequires(reader: WorkflowReader, spec: WorkflowSpec): void {
  const byName = new Map(spec.tasks.map((task) => [task.name, task]));
  for (const task of spec.tasks) {
    for (const name of task.requires) {
      if (!byName.has(name))
        unknownTask(reader, { path: ['tasks', task.name, 'requires'], name, names: byName.keys() });
    }
  }
  const done = new Set<string>();
  const visit = (name: string, way: readonly string[]): void => {
    if (done.has(name)) return;
    if (way.includes(name)) {
      const cycle = [...way.slice(way.indexOf(name)), name].join(' → ');
      reader.wrong(['tasks', name, 'requires'], `the tasks require each other in a circle: ${cycle}`);
      done.add(name);
      return;
    }
    for (const other of byName.get(name)?.requires ?? []) visit(other, [...way, name]);
    done.add(name);
  };
  for (const name of byName.keys()) visit(name, []);
}
