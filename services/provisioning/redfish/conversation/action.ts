/** Actions of a document: where they are sent, and what the controller says about their parameters. */
import { isObject } from '@anneal/contracts/json.ts';
import type { BmcChange, Form, ActionParameter } from './form.ts';
import { linkIn } from './links.ts';
import { RedfishRefusal } from './refusal.ts';
import type { RedfishAnswer } from './transport.ts';

type Body = Readonly<Record<string, unknown>>;

export interface BmcAction {
  /** `#VirtualMedia.InsertMedia` */
  readonly name: string;
  /** Anything that the controller shows as the target. */
  readonly target: unknown;
  readonly parameters: readonly ActionParameter[];
}

const allowable = '@Redfish.AllowableValues';

/** @param info the document of the action's `@Redfish.ActionInfo`. Undefined when the document has no such action. */
export function bmcActionIn(document: Body, name: string, info: Body = {}): BmcAction | undefined {
  const action = shownAction(document, name);
  if (action === undefined) return undefined;
  const described = (Array.isArray(info['Parameters']) ? (info['Parameters'] as unknown[]) : [])
    .filter(isObject)
    .flatMap(({ Name: own, Required: isRequired, AllowableValues: allowed }) =>
      typeof own === 'string' ? [{ name: own, isRequired: isRequired === true, allowed: wordsIn(allowed) }] : [],
    );
  const inline = Object.keys(action)
    .filter((key) => key.endsWith(allowable))
    .map((key) => ({ name: key.slice(0, -allowable.length), isRequired: false, allowed: wordsIn(action[key]) }));
  const names = new Set([...inline, ...described].map((each) => each.name));
  const parameters = [...names].map((each) => {
    const both = [...inline, ...described].filter((one) => one.name === each);
    return {
      name: each,
      isRequired: both.some(({ isRequired }) => isRequired),
      allowed: both.find(({ allowed }) => allowed !== undefined)?.allowed,
    };
  });
  return { name, target: action['target'], parameters };
}

/** The action with its description, which may be a document of its own that the controller may not show. */
export async function readAction(
  client: { get(path: string, what?: string): Promise<RedfishAnswer> },
  document: Body,
  name: string,
): Promise<BmcAction | undefined> {
  const link = shownAction(document, name)?.['@Redfish.ActionInfo'];
  const path = typeof link === 'string' ? link : linkIn(link);
  if (path === undefined || path === '') return bmcActionIn(document, name);
  try {
    return bmcActionIn(document, name, (await client.get(path, `the description of ${name} (ActionInfo)`)).body);
  } catch (error) {
    if (error instanceof RedfishRefusal && error.code === 'BmcRefused') return bmcActionIn(document, name);
    throw error;
  }
}

/** The request of an action. Undefined when the document has no such action, or none with a target. */
export function changeBy(action: BmcAction | undefined, body: Body, known: Form['known'] = {}): BmcChange | undefined {
  if (action === undefined || typeof action.target !== 'string' || action.target === '') return undefined;
  const { name, target, parameters } = action;
  return { method: 'POST', path: target, body, what: `the target of ${name}`, form: { known, parameters } };
}

function shownAction(document: Body, name: string): Body | undefined {
  const actions = isObject(document['Actions']) ? document['Actions'] : {};
  const action = actions[name];
  return isObject(action) ? action : undefined;
}

/** The texts of a list. An empty list lists nothing, and other values in it are left out. */
function wordsIn(value: unknown): string[] | undefined {
  const words = (Array.isArray(value) ? (value as unknown[]) : []).filter((each) => typeof each === 'string');
  return words.length > 0 ? words : undefined;
}
