/**
 * The host's two queues over HTTP, in Zaqar's format. Every call makes one attempt. Its error shows whether a retry can
 * help, and the caller decides whether to retry.
 */
import { fetchOwn } from './fetch-own.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { hostRequestSchema, type ConfigReference, type HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { z } from 'zod';

export interface OfferedRequest {
  readonly message_id: string;
  readonly claim_id: string;
  /** Undefined when this agent cannot read the message as a request. Then `mistake` explains why. */
  readonly request: HostRequest | undefined;
  readonly mistake?: string;
}

/** The server refused the call: it answered with an error status. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface ReportedPiece {
  /** `stdout`, `stderr` or `outputs.<name>`. */
  readonly name: string;
  /** The position of its first byte. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface ReportAnswer {
  /** True when the server withdrew the run. */
  readonly stop: boolean;
  /** The stored size of each reported name. `full`: the server stores no more. */
  readonly stored: ReadonlyMap<string, { readonly bytes: number; readonly full: boolean }>;
}

/** The result of a claim. */
export interface ClaimedBatch {
  /** In the order in which to run them. All have the same claim. */
  readonly offers: readonly OfferedRequest[];
  /** True when the server took the answers. */
  readonly answered: boolean;
  /** True when the next claim may have answers. An older server would ignore them. */
  readonly takesAnswers: boolean;
}

export interface AgentConnection {
  /** Hands over answers, then waits up to `wait` seconds for the next requests, at most `batch` of them. */
  claim(options: {
    wait: number;
    ttl: number;
    batch: number;
    answers: readonly Json[];
    signal: AbortSignal;
  }): Promise<ClaimedBatch>;
  renew(claim: { claim_id: string; ttl: number; signal: AbortSignal }): Promise<void>;
  release(claim: { claim_id: string; signal: AbortSignal }): Promise<void>;
  /** Posts messages in their order. */
  post(options: { bodies: readonly Json[]; signal: AbortSignal }): Promise<void>;
  /**
   * Sends pieces of streams and outputs of a run, and waits up to `wait` seconds for its stop. Repeats are harmless.
   */
  report(options: {
    id: string;
    pieces: readonly ReportedPiece[];
    wait: number;
    signal: AbortSignal;
  }): Promise<ReportAnswer>;
  /** Fetches the config of a request that only refers to it. */
  config(options: {
    id: string;
    /** The name of an input, to fetch the JSON text of its value. */
    input?: string;
    reference: ConfigReference;
    signal: AbortSignal;
  }): Promise<Uint8Array>;
  /** Removing an absent message succeeds. */
  remove(options: { message_id: string; claim_id: string | null; signal: AbortSignal }): Promise<void>;
}

/** How long the fetch of a config may take. */
const fetchMs = 600_000;

const claimAnswer = z.object({
  answered: z.boolean().default(false),
  messages: z.array(z.object({ id: z.string().optional(), href: z.string(), body: z.unknown() })),
});

export interface AgentConnectionOptions {
  readonly seed: BootSeed;
  readonly client_id: string;
  /** Reads the seed again after the server refused its token, because an operator may have renewed the token. */
  readonly reread?: (() => BootSeed) | undefined;
  readonly requestTimeoutMs?: number;
}

export function connectAgent(options: AgentConnectionOptions): AgentConnection {
  const { seed, requestTimeoutMs = 30_000 } = options;
  const send = sender(options);
  const base = `${seed.gateway_url.replace(/\/$/, '')}/messaging/v2/queues`;
  const requests = `${base}/${encodeURIComponent(seed.requests_queue)}`;
  const responses = `${base}/${encodeURIComponent(seed.responses_queue)}`;

  const call = async (parameters: {
    method: string;
    url: string;
    body?: Json | FormData;
    signal: AbortSignal;
    timeoutMs?: number;
    accept: readonly number[];
  }): Promise<Response> => {
    const { method, url, body, signal, timeoutMs = requestTimeoutMs, accept } = parameters;
    const response = await send(url, {
      method,
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (accept.includes(response.status)) return response;
    const text = (await response.text()).slice(0, 500);
    throw new RefusedError(response.status, `${method} ${url}: ${response.status} ${text}`);
  };

  return {
    async claim({ wait, ttl, batch, answers, signal }) {
      const response = await call({
        method: 'POST',
        // An older server hands out `limit` requests at most, and ignores `batch` and `answers`.
        url: `${requests}/claims?limit=1&wait=${wait}`,
        body: claimBody({ ttl, batch, answers }),
        signal,
        timeoutMs: wait * 1000 + requestTimeoutMs,
        accept: [200, 201, 204],
      });
      const takesAnswers = response.headers.has('anneal-takes-answers');
      if (response.status === 204) {
        await drain(response);
        return { offers: [], answered: false, takesAnswers };
      }
      const { messages, answered } = claimAnswer.parse(parseExact(await response.text()));
      const claimed = lastSegment(response.headers.get('location'));
      return { offers: messages.map((each) => offerOf(each, { base, claimed })), answered, takesAnswers };
    },
    async renew({ claim_id, ttl, signal }) {
      const url = `${requests}/claims/${encodeURIComponent(claim_id)}`;
      await drain(call({ method: 'PATCH', url, body: { ttl, grace: 60 }, signal, accept: [200, 204] }));
    },
    async release({ claim_id, signal }) {
      const url = `${requests}/claims/${encodeURIComponent(claim_id)}`;
      await drain(call({ method: 'DELETE', url, signal, accept: [204, 404] }));
    },
    async post({ bodies, signal }) {
      const body = { messages: bodies.map(message) };
      await drain(call({ method: 'POST', url: `${responses}/messages`, body, signal, accept: [200, 201] }));
    },
    async report({ id, pieces, wait, signal }) {
      const url = `${seed.gateway_url.replace(/\/$/, '')}/agent/v1/report?wait=${wait}`;
      const timeoutMs = wait * 1000 + requestTimeoutMs;
      const body = reportForm(id, pieces);
      return readReportAnswer(
        await (await call({ method: 'POST', url, body, signal, timeoutMs, accept: [200] })).text(),
      );
    },
    async config({ id, input, reference, signal }) {
      const url = new URL(reference.url, seed.gateway_url).href;
      const body = reportForm(id, []);
      if (input !== undefined) body.append('input', input);
      const response = await call({ method: 'POST', url, body, signal, timeoutMs: fetchMs, accept: [200] });
      return response.bytes();
    },
    async remove({ message_id, claim_id, signal }) {
      const query = claim_id === null ? '' : `?claim_id=${encodeURIComponent(claim_id)}`;
      const url = `${requests}/messages/${encodeURIComponent(message_id)}${query}`;
      // The server also removes answered messages, so any refusal here means that there is nothing left to remove.
      await drain(call({ method: 'DELETE', url, signal, accept: [200, 204, 400, 403, 404] }));
    },
  };
}

/** An older server ignores what it does not know. */
const claimBody = ({ ttl, batch, answers }: { ttl: number; batch: number; answers: readonly Json[] }): Json => ({
  ttl,
  grace: 60,
  batch,
  by_reference: true,
  inputs_by_reference: true,
  ...(answers.length > 0 && { answers: answers.map(message) }),
});

const message = (body: Json) => ({ ttl: 600, body });

function offerOf(
  { id, href, body }: z.infer<typeof claimAnswer>['messages'][number],
  { base, claimed }: { base: string; claimed: string },
): OfferedRequest {
  const url = new URL(href, base);
  const message_id = id ?? decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
  const claim_id = url.searchParams.get('claim_id') ?? claimed;
  const parsed = hostRequestSchema.safeParse(body);
  return parsed.success
    ? { message_id, claim_id, request: parsed.data }
    : { message_id, claim_id, request: undefined, mistake: z.prettifyError(parsed.error) };
}

/** Sends requests with the token of the host. A refused token is read again, and with a new one the request is repeated. */
function sender({
  seed,
  client_id,
  reread,
}: AgentConnectionOptions): (url: string, request: RequestInit) => Promise<Response> {
  let { token } = seed;
  const attempt = (url: string, request: RequestInit): Promise<Response> =>
    fetchOwn(url, {
      ...request,
      headers: {
        'X-Auth-Token': token,
        'X-Project-Id': seed.project,
        'Client-ID': client_id,
        Accept: 'application/json',
        ...(typeof request.body === 'string' && { 'Content-Type': 'application/json' }),
      },
    });
  return async (url, request) => {
    const response = await attempt(url, request);
    const found = response.status === 401 ? (reread?.().token ?? token) : token;
    if (found === token) return response;
    await drain(response);
    token = found;
    return attempt(url, request);
  };
}

/** A form with a file for each piece, named by its offset. */
function reportForm(id: string, pieces: readonly ReportedPiece[]): FormData {
  const form = new FormData();
  form.append('id', id);
  for (const { name, offset, bytes } of pieces) form.append(name, new Blob([Uint8Array.from(bytes)]), String(offset));
  return form;
}

/** Lines of `name=value`: `stop=yes`, `stdout=120`, `stderr=65536 full`. */
function readReportAnswer(text: string): ReportAnswer {
  const lines = text.split('\n').map((line) => /^(.*)=(\S+)( full)?$/.exec(line));
  return {
    stop: lines.some((line) => line?.[1] === 'stop' && line[2] === 'yes'),
    stored: new Map(
      lines.flatMap((line) =>
        line?.[1] === undefined || line[1] === 'stop'
          ? []
          : [[line[1], { bytes: Number(line[2]), full: line[3] !== undefined }] as const],
      ),
    ),
  };
}

const lastSegment = (location: string | null): string =>
  decodeURIComponent((location ?? '').split('?')[0]?.split('/').at(-1) ?? '');

/**
 * Reads an answer to its end and forgets it. A body that is cancelled instead may fail later, out of reach of every
 * handler, when more of it arrives at that moment; and its connection could not be used again.
 */
async function drain(response: Response | Promise<Response>): Promise<void> {
  await (await response).arrayBuffer();
}
