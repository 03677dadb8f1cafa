/** Keeps the secrets that a script was given out of what is stored and shown of its answer. */
import type { HostResponse } from '@anneal/contracts/configuration.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { createRedactor, createWordRedactor } from '@anneal/runtime/redact.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import type { DeploymentState } from '../collections.ts';

const givenTo = ({ request, input_values, config }: DeploymentState): Json =>
  [request, input_values, config] as unknown as Json;

/**
 * A script may quote what it was given. Its errors are for people, so the secrets in them are removed. Its standard
 * output and its outputs are values that templates read, so they are sealed as a whole when they contain a secret.
 */
export function withoutSecrets(secrets: Secrets, deployment: DeploymentState, response: HostResponse) {
  const given = givenTo(deployment);
  const redactWords = createWordRedactor(secrets, given);
  const seal = (value: Json): Json => (quotes(value, redactWords) ? secrets.seal(value) : value);
  const { stdout, error } = response;
  return {
    shown: {
      ...response,
      stdout: redactWords(stdout),
      stderr: redactWords(response.stderr),
      ...(error !== undefined && { error: redactWords(error) }),
    },
    stdout: seal(stdout),
    redact: createRedactor(secrets, given),
    seal,
  };
}

const quotes = (value: Json, redact: (text: string) => string): boolean => {
  if (typeof value === 'string') return redact(value) !== value;
  return typeof value === 'object' && value !== null && Object.values(value).some((item) => quotes(item, redact));
};

/** The standard output as people read it. */
export function shownStdout(secrets: Secrets, deployment: DeploymentState): string {
  const text = secrets.open(deployment.stdout);
  if (typeof text !== 'string') return '';
  return text === deployment.stdout ? text : createWordRedactor(secrets, givenTo(deployment))(text);
}

/** The answer with each text sealed that quotes a secret of the deployment. {@link openQuoted} is the inverse. */
export function sealTexts(secrets: Secrets, deployment: DeploymentState, body: Json): Json {
  const redact = createWordRedactor(secrets, givenTo(deployment));
  const visit = (value: Json): Json => {
    if (typeof value === 'string') return redact(value) === value ? value : secrets.seal(value);
    if (Array.isArray(value)) return value.map(visit);
    if (!isObject(value) || secrets.isSealed(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, visit(item)]));
  };
  return visit(body);
}

/** Opens the sealed texts. A copy of a seal that the host wrote stays closed. */
export const openQuoted = (secrets: Secrets, body: Json): Json =>
  secrets.replaceSeals(body, (content, seal) => (typeof content === 'string' ? content : seal));
