/** The actions that a task can name. A check names each input that an action does not have, or that has a wrong value. */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { hasSealedForm, isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { nearestName } from '../mistakes.ts';
import { workflowActions, type ActionDefinition, type ActionInput, type ActionInputKind } from './action-catalogue.ts';
import { hasExpression } from './expression.ts';

const byName = new Map(workflowActions.map((action) => [action.name, action]));

/** The action of this name; undefined when there is none. */
export const workflowAction = (name: string): ActionDefinition | undefined => byName.get(name);

const code = 'workflows run no code in the processes of Anneal; use an expression, or std.script on a host';
const openstack = 'clients of OpenStack are no actions here; use the anneal.* actions, or std.http';

/** The actions of Mistral that Anneal does not serve, with the alternative. */
const unserved: Readonly<Record<string, string>> = {
  'std.ssh': 'Anneal holds no SSH keys; use std.script, which runs on the host through its queue',
  'std.ssh_proxied': 'Anneal holds no SSH keys; use std.script, which runs on the host through its queue',
  'std.js': code,
  'std.javascript': code,
  'std.mistral_http': 'call the service by std.http, and let it complete a later task std.async_noop by the API',
  'std.sleep': 'use wait-before or wait-after of the task',
  'std.test_dict': 'use std.echo',
};

/** The alternative to an action of Mistral that is not served. Undefined for any other name. */
export function insteadOf(name: string): string | undefined {
  if (Object.hasOwn(unserved, name)) return unserved[name];
  return /^(nova|heat|ironic|glance|neutron|keystone|cinder|swift|zaqar|mistral|tripleo|baremetal_introspection)\./.test(
    name,
  )
    ? openstack
    : undefined;
}

/** A mistake in the input of an action. `input` is absent for an input that is missing. */
export interface ActionInputMistake {
  readonly input?: string;
  readonly message: string;
  readonly found?: Json;
  readonly nearest?: string | undefined;
}

/**
 * Every mistake in the input of an action: unknown and missing inputs, and values of another form. A value that holds an
 * expression has any form until the task runs; the action checks it then, as `isEvaluated`.
 */
export function actionInputMistakes(
  { name, inputs, isEvaluated = false }: Pick<ActionDefinition, 'name' | 'inputs'> & { readonly isEvaluated?: boolean },
  given: JsonObject,
): ActionInputMistake[] {
  const known = inputs.map((each) => each.name);
  const unknown = Object.keys(given)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const hint = known.length === 0 ? 'it has no inputs' : `its inputs are ${known.join(', ')}`;
      const instead = insteadOfInput(name, key) ?? hint;
      return { input: key, message: `${name} has no input ${key}; ${instead}`, nearest: nearestName(key, known) };
    });
  const missing = inputs
    .filter((each) => each.required && !Object.hasOwn(given, each.name))
    .map((each) => ({ message: `${name} needs the input ${each.name}` }));
  const wrong = inputs.flatMap((each) => {
    const value = given[each.name];
    if (value === undefined || (value === null && !each.required) || (!isEvaluated && hasInside(value))) return [];
    const rule = wrongValue(each, value);
    return rule === undefined ? [] : [{ input: each.name, message: `${name}: ${each.name} ${rule}`, found: value }];
  });
  return [...unknown, ...missing, ...wrong];
}

/** True for an expression, and for a hidden value: only the action opens it, and then checks it. */
const hasInside = (value: Json): boolean =>
  hasExpression(value) ||
  hasSealedForm(value) ||
  (Array.isArray(value) ? value.some(hasInside) : isObject(value) && Object.values(value).some(hasInside));

const isText = (value: Json): boolean => typeof value === 'string' && value !== '';
const accepts: Readonly<Record<ActionInputKind, (value: Json) => boolean>> = {
  text: isText,
  texts: (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)),
  integer: (value) => Number.isInteger(numberOf(value)) && Number(value) > 0,
  flag: (value) => typeof value === 'boolean',
  map: (value) => isObject(value),
  any: () => true,
};
const forms: Readonly<Record<ActionInputKind, string>> = {
  text: 'a text that is not empty',
  texts: 'a text or a list of texts',
  integer: 'an integer above 0',
  flag: 'true or false',
  map: 'a map',
  any: 'a value',
};

function wrongValue({ kind, choices }: ActionInput, value: Json): string | undefined {
  const shown = JSON.stringify(value)?.slice(0, 100);
  if (!accepts[kind](value)) return `must be ${forms[kind]}, not ${shown}`;
  if (choices && !choices.some((choice) => choice === value)) return `must be ${choices.join(', ')}, not ${shown}`;
  return undefined;
}

/** The alternative to an input of Mistral that is not served. */
function insteadOfInput(action: string, name: string): string | undefined {
  if (action === 'std.email' && name.startsWith('smtp_')) {
    return 'the operator names the SMTP server: ANNEAL_NOTIFICATION_SMTP_URL';
  }
  return undefined;
}
