/** Reads ad hoc actions, and finds the action that a task calls through them. */
import { withTextKeys } from '@anneal/python/values/exact.ts';
import type { Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { AdHocAction } from '@anneal/contracts/workflow.ts';
import { toExact } from '@anneal/python/yaml/node.ts';
import { listed, Mistakes, nearestName } from '../mistakes.ts';
import { parse } from '../syntax/parse.ts';
import { actionInputMistakes, insteadOf, workflowAction } from './action.ts';
import { workflowActions, type ActionDefinition } from './action-catalogue.ts';
import { readInput } from './input.ts';
import { childOf, requireVersion, WorkflowReader, type FieldPath } from './reader.ts';

/** The ad hoc actions that a text may name. */
export type KnownActions = ReadonlyMap<string, AdHocAction>;

/** The ad hoc actions of a text, or its mistakes. */
export type ParsedActions =
  | { readonly ok: true; readonly actions: AdHocAction[] }
  | { readonly ok: false; readonly mistakes: Mistake[] };

const actionKeys = ['description', 'tags', 'base', 'base-input', 'input', 'output', 'name'];

/** Reads the ad hoc actions of a text: `version: '2.0'` and one entry per action. @param known those of the project */
export function parseActions(text: string, known: KnownActions): ParsedActions {
  const mistakes = new Mistakes();
  const node = parse({ text, file: undefined, subject: 'actions:', mistakes });
  const reader = new WorkflowReader(mistakes, node);
  const document = node ? withTextKeys(toExact(node)) : null;
  if (node && !isObject(document)) reader.wrong([], 'must be a map: version, then one entry for each action');
  if (mistakes.any || !isObject(document)) return { ok: false, mistakes: mistakes.all() };
  requireVersion(reader, document);
  const { version: _, ...entries } = document;
  const names = Object.keys(entries);
  if (names.length === 0) reader.wrong([], 'has no action; write its name as a key beside version');
  const actions = names.flatMap((name) => {
    const inner = new WorkflowReader(mistakes, childOf(node, name));
    return readAdHocAction({ reader: inner, path: [] }, name, entries[name] ?? null) ?? [];
  });
  const all = new Map([...known, ...actions.map((action) => [action.name, action] as const)]);
  for (const action of actions) {
    checkBase({ reader: new WorkflowReader(mistakes, childOf(node, action.name)), path: [] }, action, all);
  }
  return mistakes.any ? { ok: false, mistakes: mistakes.all() } : { ok: true, actions };
}

/** The place of an action in a text. */
interface ActionPlace {
  readonly reader: WorkflowReader;
  readonly path: FieldPath;
}

/** Reads one ad hoc action. Its base is checked by `checkBase`, once all actions of the text are known. */
export function readAdHocAction({ reader, path }: ActionPlace, name: string, given: Json): AdHocAction | undefined {
  if (!isObject(given)) return reader.wrong(path, `${name} must be a map with the key base`, { found: given });
  if (!/^[\w.-]{1,255}$/.test(name)) {
    reader.wrong(path, 'an action name has 1 to 255 letters, digits, _, . or -', { found: name });
  }
  if (workflowAction(name)) reader.wrong(path, `${name} is the name of an action of the catalogue`, { found: name });
  reader.keys(given, path, actionKeys);
  const base = reader.text(given['base'], [...path, 'base']);
  if (base === '') reader.wrong([...path, 'base'], 'an ad hoc action needs base: the action that it calls');
  const baseInput = given['base-input'] ?? {};
  reader.expressions(baseInput, [...path, 'base-input']);
  if (!isObject(baseInput) && typeof baseInput !== 'string') {
    reader.wrong([...path, 'base-input'], 'must be a map, or an expression that gives a map', { found: baseInput });
  }
  const output = given['output'] ?? null;
  reader.expressions(output, [...path, 'output']);
  return {
    name,
    description: reader.text(given['description'], [...path, 'description']),
    tags: reader.names(given['tags'], [...path, 'tags']),
    base,
    base_input: baseInput,
    input: readInput(reader, given['input'], [...path, 'input']),
    output,
    has_output: given['output'] !== undefined,
  };
}

/** Reports a base that does not exist, that leads back to the action, or that does not take its base-input. */
export function checkBase({ reader, path }: ActionPlace, action: AdHocAction, known: KnownActions): void {
  if (action.base === '') return;
  const found = findAction(action.base, known);
  if (typeof found === 'string') reader.wrong([...path, 'base'], found, { found: action.base });
  else if (found.through.some(({ name }) => name === action.name)) {
    reader.wrong([...path, 'base'], `the action ${action.name} calls itself`, { found: action.base });
  } else if (isObject(action.base_input)) {
    checkInput({ reader, path: [...path, 'base-input'] }, found, action.base_input);
  }
}

/** The action that runs for a name, and the ad hoc actions on the way. */
export interface FoundAction {
  readonly definition: ActionDefinition;
  readonly through: readonly AdHocAction[];
}

/** Finds the action of a name. Returns the reason when there is none. */
export function findAction(name: string, known: KnownActions): FoundAction | string {
  const through: AdHocAction[] = [];
  for (let at = name; ;) {
    const definition = workflowAction(at);
    if (definition) return { definition, through };
    const action = known.get(at);
    if (!action) return missingAction(at, known);
    if (through.includes(action))
      return `the action ${at} calls itself: ${through.map((each) => each.name).join(' → ')}`;
    through.push(action);
    at = action.base;
  }
}

function missingAction(name: string, known: KnownActions): string {
  const instead = insteadOf(name);
  if (instead !== undefined) return `${name} is not served: ${instead}`;
  const names = [...workflowActions.map((each) => each.name), ...known.keys()];
  const nearest = nearestName(name, names);
  return `there is no action ${name}; ${nearest === undefined ? `the actions are ${listed(names)}` : `did you mean ${nearest}?`}`;
}

/** Reports every mistake in the input of an action. */
export function checkInput(
  { reader, path }: ActionPlace,
  { definition, through }: FoundAction,
  input: JsonObject,
): void {
  const [adHoc] = through;
  const inputs = adHoc?.input.map(({ name, required }) => ({ name, required, kind: 'any', description: '' }) as const);
  const called = adHoc && inputs ? { name: adHoc.name, inputs } : definition;
  for (const { input: key, message, found, nearest } of actionInputMistakes(called, input)) {
    const place = key === undefined ? path : [...path, key];
    reader.wrong(place, message, { ...(found !== undefined && { found }), nearest });
  }
}
