/** The behaviour of each type of our own provider. The types are defined as data in `libs/hot/types/scheduling.ts`. */
import { mostSeconds } from '@anneal/contracts/readers/duration.ts';
import { isObject, storedProperty, type Json, type JsonObject, type SealableObject } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import type { Result } from '@anneal/provider/document.ts';
import { isSecret, openProperties, openProperty } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { coerceValue } from './coerce.ts';
import type { Draw } from './draw.ts';
import { randomString } from './random-string.ts';

export interface ActionRequest extends ResourceRequest {
  readonly action: ResourceAction;
  readonly secrets: Secrets;
  /** Draws an integer from 0, below the given one. */
  readonly draw: Draw;
  /** Only for an update. */
  readonly old_properties?: SealableObject;
}

export interface Behaviour {
  /** Set when the work takes no time and touches nothing outside, so that the step answers it itself (`at-once.ts`). */
  readonly atOnce?: true;
  /** The wait in seconds; below zero it never ends. */
  readonly waitSeconds?: (request: ActionRequest) => number;
  /** The id of a new object while its creation waits. The provider reports it before the wait, as in Heat. */
  readonly earlyId?: (request: ActionRequest) => string | undefined;
  readonly run: (request: ActionRequest) => Result;
  /** The attributes of an adopted object, from its properties and the data of the abandoned stack. */
  readonly adopt?: (request: ActionRequest) => JsonObject;
}

/** Adopts an object without creating it or waiting for it. The object keeps its physical id. */
export function takeOver({ run, adopt }: Behaviour, request: ActionRequest): Result {
  if (adopt) return { kind: 'complete', attributes: adopt(request) };
  const result = run(request);
  return result.kind === 'complete' && result.attributes ? { kind: 'complete', attributes: result.attributes } : result;
}

/** Reads a value from Heat's `resource_data`, or from the attributes that our export adds. */
const heldIn = ({ adopt }: ActionRequest, attribute: string): Json | undefined => {
  const [data, attributes] = [adopt?.['resource_data'], adopt?.['attributes']];
  return (isObject(data) ? data['value'] : undefined) ?? (isObject(attributes) ? attributes[attribute] : undefined);
};

const done: Result = { kind: 'complete' };

const typeText = (type: Json | undefined): string => (typeof type === 'string' ? type : 'its property type');

const value: Behaviour = {
  atOnce: true,
  run(request) {
    if (request.action === 'delete') return done;
    const { secrets } = request;
    const open = openProperties(secrets, request.properties);
    const secret = isSecret(secrets, request.properties as JsonObject);
    const coerced = coerceValue(open['value'] ?? null, open['type'] ?? null);
    if (!coerced.ok) {
      const message = secret
        ? `The value is not of type ${typeText(open['type'])}. It is hidden, so it is not shown.`
        : coerced.message;
      return { kind: 'failed', error: { code: 'InvalidRequest', message } };
    }
    return {
      kind: 'complete',
      physical_id: request.resource.physical_name,
      attributes: { value: secret ? secrets.seal(coerced.value) : coerced.value },
    };
  },
};

const random: Behaviour = {
  atOnce: true,
  run(request) {
    if (request.action !== 'create') return done;
    const made = randomString(openProperties(request.secrets, request.properties), request.draw);
    if (!made.ok) return { kind: 'failed', error: { code: 'InvalidRequest', message: made.message } };
    return { kind: 'complete', physical_id: request.resource.physical_name, attributes: { value: made.value } };
  },
  adopt: (request) => ({ value: heldIn(request, 'value') ?? null }),
};

const none: Behaviour = {
  atOnce: true,
  run: ({ action, resource }) =>
    action === 'create' ? { kind: 'complete', physical_id: resource.id, attributes: {} } : done,
};

/** A creation that fails leaves no object behind, so it has no id. */
const physicalName = ({ action, properties, resource, secrets }: ActionRequest): string | undefined =>
  action === 'create' && openProperty(secrets, properties, 'fail') !== true ? resource.physical_name : undefined;

const test: Behaviour = {
  earlyId: physicalName,
  waitSeconds({ action, properties, secrets }) {
    const perAction = openProperty(secrets, properties, 'action_wait_secs');
    const own = isObject(perAction) ? perAction[action] : undefined;
    return Number(own ?? openProperty(secrets, properties, 'wait_secs') ?? 0) || 0;
  },
  run(request) {
    const { action, properties: stored, resource, old_properties: old = {}, secrets } = request;
    if (action !== 'create' && action !== 'update') return done;
    const properties = openProperties(secrets, stored);
    if (action === 'update' && properties['update_replace'] === true) {
      const differs = JSON.stringify(openProperty(secrets, old, 'value')) !== JSON.stringify(properties['value']);
      if (differs)
        return {
          kind: 'failed',
          replace: true,
          error: { code: 'ResourceFailed', message: 'The resource must be replaced.' },
        };
    }
    if (properties['fail'] === true) {
      return { kind: 'failed', error: { code: 'ValueError', message: `Test Resource failed ${resource.name}` } };
    }
    return {
      kind: 'complete',
      physical_id: resource.physical_name,
      attributes: { output: storedProperty(stored, 'value') ?? null },
    };
  },
  adopt: (request) => ({ output: heldIn(request, 'output') ?? storedProperty(request.properties, 'value') ?? null }),
};

const delay: Behaviour = {
  earlyId: physicalName,
  waitSeconds({ action, properties: stored, secrets }) {
    const properties = openProperties(secrets, stored);
    const actions = properties['actions'];
    if (!(Array.isArray(actions) ? actions : ['CREATE']).includes(action.toUpperCase())) return 0;
    const number = (name: string, fallback: number): number => Number(properties[name] ?? fallback) || 0;
    const jitter = Math.random() * number('max_jitter', 0) * number('jitter_multiplier', 1);
    return Math.min(number('min_wait', 0) + jitter, mostSeconds);
  },
  run: ({ action, resource }) =>
    action === 'create' ? { kind: 'complete', physical_id: resource.physical_name, attributes: {} } : done,
};

const behaviours: Readonly<Record<string, Behaviour>> = {
  'OS::Heat::Value': value,
  'OS::Heat::RandomString': random,
  'OS::Heat::None': none,
  'OS::Heat::TestResource': test,
  'OS::Heat::Delay': delay,
};

export function behaviourOf(type: string): Behaviour | undefined {
  return Object.hasOwn(behaviours, type) ? behaviours[type] : undefined;
}
