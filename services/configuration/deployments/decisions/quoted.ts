/** Keeps the secrets that a script was given out of what is stored and shown of its answer. */
import { isExact } from '@anneal/contracts/exact-number.ts';
import type { HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { createRedactor, createWordRedactor, sealQuotes } from '@anneal/runtime/secrets/redact.ts';
import { contentsOf, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { DeploymentState } from '../../collections.ts';

const givenTo = ({ request, input_values, config }: DeploymentState): Json =>
  [request, input_values, config] as unknown as Json;

/** True when the host was given a hidden value for this deployment. */
export const hidesValues = (secrets: Secrets, deployment: DeploymentState): boolean =>
  contentsOf(secrets, givenTo(deployment)).length > 0;

/** Removes the hidden values of a deployment, and their words, from a text. */
export const wordRedactorOf = (secrets: Secrets, deployment: DeploymentState): ((text: string) => string) =>
  createWordRedactor(secrets, givenTo(deployment));

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
  return (
    typeof value === 'object' &&
    value !== null &&
    !isExact(value) &&
    Object.values(value).some((item) => quotes(item, redact))
  );
};

/** The standard output as people read it. */
export function shownStdout(secrets: Secrets, deployment: DeploymentState): string {
  const text = secrets.open(deployment.stdout);
  if (typeof text !== 'string') return '';
  return text === deployment.stdout ? text : createWordRedactor(secrets, givenTo(deployment))(text);
}

/**
 * The message of a host with each text and number sealed that quotes a secret of these deployments, and each object
 * whole that has a secret as a name. {@link openQuoted} is the inverse.
 */
export function sealTexts(secrets: Secrets, deployments: readonly DeploymentState[], body: Json): Json {
  const redact = createWordRedactor(secrets, deployments.map(givenTo));
  // Words of a sealed script stay, because most of them are ordinary names.
  const redactNames = createRedactor(secrets, deployments.map(givenTo));
  return sealQuotes(secrets, body, {
    isSecret: (text) => redact(text) !== text,
    isSecretName: (name) => redactNames(name) !== name,
  });
}

/** Opens the sealed parts. A copy of a seal that the host wrote stays closed. */
export const openQuoted = (secrets: Secrets, body: Json): Json =>
  secrets.replaceSeals(body, (content, seal) => (secrets.isSealed(content) ? seal : content));
