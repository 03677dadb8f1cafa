/** The actions of inspection rules, as in Ironic. Pure: each changes the draft of a node and its plugin data. */
import type { RuleAction, RuleActionName } from '@anneal/contracts/calls/inspection-rules.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { capabilitiesOf } from '../bmc/declared-properties.ts';
import { isDeepStrictEqual } from 'node:util';
import { ruleArguments, type ArgumentNames } from './arguments.ts';
import { interpolated, fieldText } from './interpolate.ts';

/** The fields of a node that a rule may change. */
export const ruleFields = [
  'resource_class',
  'description',
  'traits',
  'properties',
  'extra',
  'owner',
  'lessee',
  'shard',
  'retired',
  'retired_reason',
] as const;

export interface RuleLog {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
}

/** The subject of the rules of one inspection. */
export interface RuleDraft {
  readonly fields: JsonObject;
  readonly pluginData: JsonObject;
  readonly logs: RuleLog[];
}

export const actionArguments: Readonly<Record<RuleActionName, ArgumentNames>> = {
  fail: { needed: ['msg'] },
  log: { needed: ['msg'], more: ['level'] },
  'set-attribute': { needed: ['path', 'value'] },
  'extend-attribute': { needed: ['path', 'value'], more: ['unique'] },
  'del-attribute': { needed: ['path'] },
  'set-capability': { needed: ['name', 'value'] },
  'unset-capability': { needed: ['name'] },
  'add-trait': { needed: ['name'] },
  'remove-trait': { needed: ['name'] },
  'set-plugin-data': { needed: ['path', 'value'] },
  'extend-plugin-data': { needed: ['path', 'value'], more: ['unique'] },
  'unset-plugin-data': { needed: ['path'] },
};

/** Runs an action. @throws AnnealError ResourceFailed for `fail`; InvalidRequest for an action that is impossible */
export function runRuleAction(action: RuleAction, draft: RuleDraft, context: JsonObject): void {
  const { op, loop } = action;
  const named = ruleArguments(op, action.args, actionArguments[op]);
  const run = (within: JsonObject): void => actions[op](interpolated(named, within) as JsonObject, draft);
  if (loop === undefined) return run(context);
  for (const item of Array.isArray(loop) ? loop : [loop]) run({ ...context, item: interpolated(item, context) });
}

/** Refuses the path of a field that rules may not change. A path with a replacement field is checked when it is known. */
export function requireRuleField(op: string, path: Json | undefined): void {
  if (typeof path === 'string' && path.startsWith('{')) return;
  attributePath(op, path);
}

const impossible = (op: string, message: string): AnnealError =>
  new AnnealError('InvalidRequest', `The action ${op} is impossible: ${message}.`);

/** `/properties/a` and `properties.a`. */
function attributePath(op: string, path: Json | undefined): [string, ...string[]] {
  const [first = '', ...rest] = fieldText(path ?? null)
    .replace(/^\//, '')
    .split(/[./]/);
  if ((ruleFields as readonly string[]).includes(first)) return [first, ...rest];
  throw impossible(op, `rules may change ${ruleFields.join(', ')}, not ${first}`);
}

const pluginPath = (path: Json | undefined): [string, ...string[]] => {
  const [first = '', ...rest] = fieldText(path ?? null).split('.');
  return [first, ...rest];
};

/** The map around the end of a path, which is made as far as it is missing. */
function around(op: string, from: JsonObject, path: readonly string[]): JsonObject {
  let at = from;
  for (const part of path.slice(0, -1)) {
    if (!Object.hasOwn(at, part) || at[part] === null) at[part] = {};
    const next = at[part];
    if (!isObject(next ?? null)) throw impossible(op, `${part} is no map`);
    at = next as JsonObject;
  }
  return at;
}

const lastOf = (path: readonly string[]): string => path.at(-1) ?? '';

function extend(
  op: string,
  from: JsonObject,
  { path, value, unique }: { path: string[]; value: Json; unique: boolean },
) {
  const at = around(op, from, path);
  const list = (Object.hasOwn(at, lastOf(path)) ? at[lastOf(path)] : null) ?? [];
  if (!Array.isArray(list)) throw impossible(op, `${path.join('/')} is no list`);
  at[lastOf(path)] = unique && list.some((each) => isDeepStrictEqual(each, value)) ? list : [...list, value];
}

function remove(from: JsonObject, path: readonly string[]): boolean {
  let at: Json | undefined = from;
  for (const part of path.slice(0, -1)) at = isObject(at ?? null) ? (at as JsonObject)[part] : undefined;
  if (!isObject(at ?? null) || !Object.hasOwn(at as JsonObject, lastOf(path))) return false;
  delete (at as JsonObject)[lastOf(path)];
  return true;
}

const levels: Readonly<Record<string, RuleLog['level']>> = {
  debug: 'debug',
  info: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'error',
};

function setCapability({ fields }: RuleDraft, name: Json | undefined, value: string | undefined): void {
  const properties = fields['properties'] as JsonObject;
  const { [fieldText(name ?? '')]: _, ...others } = capabilitiesOf(properties);
  const all = { ...others, ...(value !== undefined && { [fieldText(name ?? '')]: value }) };
  properties['capabilities'] = Object.entries(all)
    .map(([key, each]) => `${key}:${each}`)
    .join(',');
}

const traitsIn = ({ fields }: RuleDraft): Json[] => fields['traits'] as Json[];

const actions: Readonly<Record<RuleActionName, (args: JsonObject, draft: RuleDraft) => void>> = {
  fail: ({ msg }) => {
    throw new AnnealError('ResourceFailed', `An inspection rule refuses the machine: ${fieldText(msg ?? null)}`);
  },
  log: ({ msg, level = 'info' }, { logs }) => {
    const known = levels[fieldText(level).toLowerCase()];
    if (!known) throw impossible('log', `the level is one of ${Object.keys(levels).join(', ')}`);
    logs.push({ level: known, message: fieldText(msg ?? null) });
  },
  'set-attribute': ({ path, value = null }, { fields }) => {
    const parts = attributePath('set-attribute', path);
    around('set-attribute', fields, parts)[lastOf(parts)] = value;
  },
  'extend-attribute': ({ path, value = null, unique }, { fields }) =>
    extend('extend-attribute', fields, {
      path: attributePath('extend-attribute', path),
      value,
      unique: unique === true,
    }),
  'del-attribute': ({ path }, { fields }) => {
    const parts = attributePath('del-attribute', path);
    if (parts.length === 1) throw impossible('del-attribute', `${parts[0]} is a field of every node; set it instead`);
    if (!remove(fields, parts)) throw impossible('del-attribute', `the node has no ${parts.join('/')}`);
  },
  'set-capability': ({ name, value = null }, draft) => setCapability(draft, name, fieldText(value)),
  'unset-capability': ({ name }, draft) => setCapability(draft, name, undefined),
  'add-trait': ({ name }, draft) => {
    draft.fields['traits'] = [...new Set([...traitsIn(draft), fieldText(name ?? null)])];
  },
  'remove-trait': ({ name }, draft) => {
    draft.fields['traits'] = traitsIn(draft).filter((trait) => trait !== name);
  },
  'set-plugin-data': ({ path, value = null }, { pluginData }) => {
    const parts = pluginPath(path);
    around('set-plugin-data', pluginData, parts)[lastOf(parts)] = value;
  },
  'extend-plugin-data': ({ path, value = null, unique }, { pluginData }) =>
    extend('extend-plugin-data', pluginData, { path: pluginPath(path), value, unique: unique === true }),
  'unset-plugin-data': ({ path }, { pluginData }) => void remove(pluginData, pluginPath(path)),
};
