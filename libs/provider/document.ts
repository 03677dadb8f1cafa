/** The document of a resource at its provider, and the responses that are made from it. Pure. */
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  resourceResponse,
  type ResourceAction,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import type { Document, Draft } from '@anneal/store/port.ts';

/** A request of the engine, with its envelope. */
export type Request = Envelope<ResourceRequest>;

/** The part of each provider's document that the kit reads and writes. Its id is that of the resource. */
export interface ProvidedDocument extends Document {
  /** The highest fence seen. */
  readonly fence: number;
  readonly action: ResourceAction;
  /** The final response to the request with that fence; null while the request is in progress. */
  readonly response: ResourceResponse | null;
  /** True while the document keeps messages that are perhaps not sent. */
  readonly unsent?: boolean;
}

/** A request that arrived, and the document of its resource before it. */
export interface Received<D extends ProvidedDocument> {
  readonly action: ResourceAction;
  readonly message: Request;
  readonly known: D | undefined;
}

/** The request is done. */
export interface Complete {
  readonly kind: 'complete';
  readonly physical_id?: string;
  /** All attributes; absent when they did not change. */
  readonly attributes?: JsonObject;
  /** For people. */
  readonly message?: string;
  readonly drift?: ResourceResponse['drift'];
}

/** The request failed, for good. */
export interface Failed {
  readonly kind: 'failed';
  readonly error: Failure | Error;
  /** Only a new resource can have what was requested. */
  readonly replace?: boolean;
  readonly drift?: ResourceResponse['drift'];
}

/** The end of a request. */
export type Result = Complete | Failed;

/** Converts a result to the response. Absent parts stay absent. */
export function responseTo(action: ResourceAction, data: ResourceRequest, result: Result): ResourceResponse {
  const common = {
    resource_id: data.resource.id,
    stack_id: data.stack.id,
    action,
    fence: data.fence,
    ...(result.drift && { drift: result.drift }),
  };
  if (result.kind === 'failed') {
    const error = result.error instanceof Error ? toFailure(result.error) : result.error;
    return { ...common, status: 'failed', error, ...(result.replace && { replace: true }) };
  }
  return {
    ...common,
    status: 'complete',
    ...(result.physical_id !== undefined && { physical_id: result.physical_id }),
    ...(result.attributes && { attributes: result.attributes }),
    ...(result.message !== undefined && { message: result.message.slice(0, 4096) }),
  };
}

/**
 * Makes the message of a response. Its id follows from the request, so that receivers recognise a repeat.
 * @param step distinguishes several `in progress` responses to one request
 */
export function responseMessage(
  mint: Mint,
  { asker, response, step }: { asker: Envelope; response: ResourceResponse; step?: string | number | undefined },
): Envelope<ResourceResponse> {
  return mint(resourceResponse, {
    id: `${asker.id}:${response.status}${step === undefined ? '' : `:${step}`}`,
    // The resource, because a shard that cannot read the response finds the stack by it.
    subject: response.resource_id,
    cause: asker,
    data: response,
  });
}

/** The document without its version, as a writer passes it. */
export function draftOf<D extends Document>(document: D): Draft<D> {
  const { version: _, ...draft } = document;
  return draft;
}
