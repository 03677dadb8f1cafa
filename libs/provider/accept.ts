/** Takes requests for resources: fences, repeats, and one record per request (P1 to P3 of `provide.ts`). */
import type { Bus } from '@anneal/bus/port.ts';
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ResourceAction, ResourceResponse } from '@anneal/contracts/resource.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection, Draft } from '@anneal/store/port.ts';
import { responseMessage, type ProvidedDocument, type Received, type Request } from './document.ts';

/** How a service takes the requests for the resources of one collection. */
export interface Acceptance<D extends ProvidedDocument> {
  readonly context: { readonly bus: Bus; readonly mint: Mint };
  readonly collection: Collection<D>;
  /**
   * Decides how the document records the request. Called again when another writer changed the document first, so it
   * changes nothing outside. An error leaves the request unrecorded, and the bus delivers it again.
   */
  readonly decide: (received: Received<D>) => Promise<Draft<D>>;
  /** Does what follows from the recorded decision. Called again for a repeat of a request that is not answered yet. */
  readonly carryOut: (document: D, received: Received<D>) => Promise<void>;
}

/**
 * Takes one request. Resolves when its decision is recorded and carried out; then the bus may forget the request.
 * Safe under redelivery, and when replicas take the same request at the same time.
 * @throws AnnealError InvalidMessage for a request without `replyto`
 */
export async function accept<D extends ProvidedDocument>(
  options: Acceptance<D>,
  { action, message }: { action: ResourceAction; message: Request },
): Promise<void> {
  const { collection, decide, carryOut } = options;
  const { resource, fence } = message.data;
  if (message.replyto === undefined) {
    const text = `Rejected ${message.type} for ${resource.name}: it names no queue for the response (replyto).`;
    throw new AnnealError('InvalidMessage', text);
  }
  let received: Received<D> = { action, message, known: undefined };
  const { document, changed } = await changeOrInsert(collection, resource.id, (known) => {
    received = { action, message, known };
    return known && known.fence >= fence ? undefined : decide(received);
  });
  if (!document || document.fence > fence) return;
  if (changed) await faultPoint('provider.recorded');
  if (!changed && document.response && !document.unsent) {
    await reply(options.context, message, { response: document.response });
  } else {
    await carryOut(document, received);
  }
}

/** Sends a response to the requester. Durable on return; a repeat has the same id. */
export async function reply(
  { bus, mint }: { bus: Bus; mint: Mint },
  asker: Envelope,
  { response, step }: { response: ResourceResponse; step?: string | number },
): Promise<void> {
  if (asker.replyto === undefined) return;
  await bus.send({ queue: asker.replyto, messages: [responseMessage(mint, { asker, response, step })] });
}
