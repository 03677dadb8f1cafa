/**
 * The response of a provider in the form that may be stored and shown. Our services seal secrets. A program outside Anneal
 * may send anything, in every field:
 *
 * - A seal is either one that the resource already holds, or a copy. A copy must not open (S2 of `secrets.ts`).
 * - A text may quote a hidden value, when the program holds the keys or gets the value from elsewhere. A text for people
 *   loses the value; a value for templates is sealed.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { servedType } from '@anneal/convergence/documents.ts';
import type { State } from '@anneal/convergence/state.ts';
import { createRedactor, sealQuotes } from '@anneal/runtime/secrets/redact.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ProviderDirectory } from '../providers.ts';

interface Arrived {
  readonly message: Envelope;
  readonly state: State;
  readonly providers: Pick<ProviderDirectory, 'isForeign'>;
  readonly secrets: Secrets;
}

/** Returns the response itself when it hides nothing. A repeat gives the same. */
export function storableResponse({ message, state, providers, secrets }: Arrived): ResourceResponse {
  const response = message.data as ResourceResponse;
  const resource = state.resources.get(response.resource_id);
  const type = resource && servedType(resource);
  const given = [state.plan.parameters, resource ?? null] as unknown as Json;
  if (type === undefined || !providers.isForeign(type)) {
    const { error, message: text } = response;
    return error === undefined && text === undefined
      ? response
      : withoutTexts(response, createRedactor(secrets, given));
  }
  const closed = secrets.fromOutside(response as unknown as Json, resource as unknown as Json);
  return withoutQuotes(closed as unknown as ResourceResponse, createRedactor(secrets, given), secrets);
}

type Redact = <T>(value: T) => T;

/** Without the hidden values in what people read: errors, progress. */
function withoutTexts(response: ResourceResponse, redact: Redact): ResourceResponse {
  const { error, message, failures } = response;
  return {
    ...response,
    ...(error !== undefined && { error: redact(error) }),
    ...(message !== undefined && { message: redact(message) }),
    ...(failures !== undefined && { failures: redact(failures) }),
  };
}

/** Without the hidden values in any field. Names lose them, because a name cannot be sealed. */
function withoutQuotes(response: ResourceResponse, redact: Redact, secrets: Secrets): ResourceResponse {
  const isSecret = (text: string): boolean => redact(text) !== text;
  const seal = <T extends Json>(value: T): T => sealQuotes(secrets, value, { isSecret, isSecretName: isSecret }) as T;
  const sealItems = (object: JsonObject): JsonObject =>
    toRecord(Object.entries(object).map(([name, value]) => [redact(name), seal(value)]));
  const { physical_id: id, attributes, drift, snapshot } = response;
  return {
    ...withoutTexts(response, redact),
    ...(id !== undefined && { physical_id: redact(id) }),
    ...(attributes !== undefined && { attributes: sealItems(attributes) }),
    ...(snapshot !== undefined && { snapshot: sealItems(snapshot) }),
    ...(drift !== undefined && {
      drift: drift.map(({ property, expected, actual }) => ({
        property: redact(property),
        expected: seal(expected),
        actual: seal(actual),
      })),
    }),
  };
}
