/** Calls a service while handling a request. The gateway gets all data about stacks, queues and nodes this way. */
import type { Bus } from '@anneal/bus/port.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { questionAbandoned } from '@anneal/contracts/calls/templating.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';

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
}: {
  bus: Bus;
  mint: Mint;
  secrets: Secrets;
  answerTimeoutMs: number;
  compileTimeoutMs: number;
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
      return await bus.request({
        queue: requestsQueue(service),
        call,
        message,
        timeoutMs,
        ...(signal && { signal }),
      });
    } catch (error) {
      // An HTTP client cannot inspect the internal queues. It can only wait and retry.
      if (error instanceof AnnealError && error.code === 'TimedOut') {
        throw new AnnealError(
          'Unavailable',
          `The ${service} service did not answer ${call.type} within ${timeoutMs} ms (${setting}). It may be starting or busy; try again in a few seconds.`,
          { cause: error },
        );
      }
      // The bus validates each message that it sends, so data of a request are validated again only for their error.
      if (error instanceof AnnealError && error.code === 'Defect') requireValid(call, data);
      throw error;
    } finally {
      signal?.removeEventListener('abort', abandon);
    }
  };
}

/**
 * Checks a call against the contract of the service. Its data come from a request, so a mismatch is the client's fault.
 * @throws AnnealError InvalidRequest with every mistake.
 */
function requireValid<Q, A>(call: CallDefinition<Q, A>, data: Q): void {
  const { error } = call.data.safeParse(data);
  if (!error) return;
  const mistakes = error.issues
    .slice(0, 20)
    .map(({ path, message }) => ({ code: 'InvalidField', path: path.join('.'), message }));
  const listed = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The request is not valid: ${listed}`, { mistakes });
}
