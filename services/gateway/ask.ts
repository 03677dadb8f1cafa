/** Calls a service while handling a request. The gateway gets all data about stacks, queues and nodes this way. */
import type { Outages } from '@anneal/bus/connect/outage.ts';
import type { Bus } from '@anneal/bus/port.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError, hasCode, toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { questionAbandoned } from '@anneal/contracts/calls/templating.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { issueText } from '@anneal/contracts/field-mistakes.ts';
import { isStoreAway } from './store-outage.ts';

export interface AskParameters<Q> {
  data: Q;
  project?: string;
  /** Holds the seals that the gateway made for this call. Any other seal can only be a copy, and is sealed once more. */
  sealed?: Json;
  /** True for a call that compiles templates and may take longer than others. */
  compiles?: true;
  /** Aborted when the client disconnects. Templating then drops its work on the call. */
  signal?: AbortSignal;
}

export type Ask = <Q, A>(service: ServiceName, call: CallDefinition<Q, A>, parameters: AskParameters<Q>) => Promise<A>;

export function createAsk({
  bus,
  mint,
  secrets,
  answerTimeoutMs,
  compileTimeoutMs,
  waitsForBroker = false,
  silence = () => undefined,
  readsSealed = () => false,
  storeOutages,
}: {
  bus: Bus;
  mint: Mint;
  secrets: Secrets;
  answerTimeoutMs: number;
  compileTimeoutMs: number;
  /**
   * Waits for a broker that is away up to the time limit. For the calls of hosts and machines, which would only ask again.
   * Without it, a call fails at once, because a person or a program wants to know.
   */
  waitsForBroker?: boolean;
  /** A sentence about a service of which no process shows a sign of life; undefined for any other service. */
  silence?: (service: ServiceName) => string | undefined;
  /** Whether a service reads sealed questions. */
  readsSealed?: (service: ServiceName) => boolean;
  /** The outages of the database, in which no service can answer. */
  storeOutages?: Outages;
}): Ask {
  /** Leaves calls of templating unchanged, because templating itself seals what it compiles. */
  const taken = <Q>(service: ServiceName, data: Q, sealed: Json | undefined): Q =>
    service === 'templating' ? data : (secrets.fromOutside(data as Json, sealed) as Q);
  return async (service, call, { data, project, signal, sealed, compiles }) => {
    const [timeoutMs, setting] = compiles
      ? [compileTimeoutMs, 'ANNEAL_GATEWAY_COMPILE_TIMEOUT_MS']
      : [answerTimeoutMs, 'ANNEAL_GATEWAY_ANSWER_TIMEOUT_MS'];
    const message = mint(call, { data: taken(service, data, sealed), project });
    const abandon = (): void => {
      // Best effort: a call that is not dropped ends at its limits.
      bus.publish([mint(questionAbandoned, { data: { question: message.id }, project })]).catch(() => {});
    };
    if (service === 'templating') signal?.addEventListener('abort', abandon, { once: true });
    try {
      const request = () =>
        bus.request({
          queue: requestsQueue(service),
          call,
          message,
          timeoutMs,
          failsInOutage: !waitsForBroker,
          seals: call.quotesSecrets === true && readsSealed(service),
          ...(signal && { signal }),
        });
      return await (storeOutages && !waitsForBroker ? storeOutages.during(request) : request());
    } catch (error) {
      if (isStoreAway(error)) {
        const { message: why, details = {} } = error;
        const what = `The ${service} service cannot answer ${call.type}, and may still carry it out later.`;
        throw new AnnealError('Unavailable', `${what} ${why}`, { cause: error, details });
      }
      if (isBrokerAway(error)) throw withoutBroker(`ask the ${service} service (${call.type})`, error);
      // An HTTP client cannot inspect the internal queues. It can only wait and retry.
      if (hasCode(error, 'TimedOut')) {
        const why = await bus.check().then(
          () => silence(service) ?? 'It may be starting or busy; try again in a few seconds.',
          (trouble: unknown) => toFailure(trouble).message,
        );
        throw new AnnealError(
          'Unavailable',
          `The ${service} service did not answer ${call.type} within ${timeoutMs} ms (${setting}). ${why}`,
          { cause: error },
        );
      }
      // The bus validates each message that it sends, so data of a request are validated again only for their error.
      if (hasCode(error, 'Defect')) requireValid(call, data);
      throw error;
    } finally {
      signal?.removeEventListener('abort', abandon);
    }
  };
}

/** When the outage began that failed a call at once; null for any other error. */
export function brokerAwaySince(error: unknown): string | null {
  const since = hasCode(error, 'Unavailable') ? error.details?.['broker_away_since'] : undefined;
  return typeof since === 'string' ? since : null;
}

/** Whether a call failed at once because the broker is away. */
export const isBrokerAway = (error: unknown): error is AnnealError => brokerAwaySince(error) !== null;

/** `what` completes "The gateway cannot …". */
const withoutBroker = (what: string, error: AnnealError): AnnealError =>
  new AnnealError('Unavailable', `The gateway cannot ${what}. ${error.message}`, {
    cause: error,
    details: {
      ...error.details,
      remedy:
        'Start the broker, or correct ANNEAL_BUS_URL. The services reconnect by themselves and continue; then try again.',
    },
  });

/**
 * Checks a call against the contract of the service. Its data come from a request, so a mismatch is the client's fault.
 * @throws AnnealError InvalidRequest with every mistake.
 */
function requireValid<Q, A>(call: CallDefinition<Q, A>, data: Q): void {
  const { error } = call.data.safeParse(data);
  if (!error) return;
  const mistakes = error.issues
    .slice(0, 20)
    .map((issue) => ({ code: 'InvalidField', path: issue.path.join('.'), message: issueText(issue) }));
  const listed = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The request is not valid: ${listed}`, { mistakes });
}
