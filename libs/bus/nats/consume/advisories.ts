/**
 * Turns messages that the server itself gives up on into dead letters: a message that reached the server's limit of
 * deliveries, or that a foreign consumer terminated. A stream keeps the advisories until a process has handled them.
 *
 * V1 Such a message returns to its queue with the server's reason. There it dies as every other message: its consumer
 *    ends the waits for it, the requester is notified, and then the dead letter is stored (B7).
 * V2 The server has removed the bytes of a terminated message, so they come from its copy (`copies.ts`). Without a copy,
 *    the dead letter has the reason and no bytes, and the requester is not known.
 */
import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { BrokerOffer } from '../../broker.ts';
import { Consumption } from './consumer.ts';
import { givenUpHeaders, subjectHeader } from './delivery.ts';
import { copyOf } from './copies.ts';
import type { ConsumptionParts } from './settle.ts';
import { nameOfSubject, type Address } from '../names.ts';
import type { NatsPublisher } from '../publisher.ts';

interface Advisory {
  readonly stream?: string;
  readonly consumer?: string;
  readonly stream_seq?: number;
  readonly deliveries?: number;
  readonly reason?: string;
}

const againMs = 1_000;
/** As release 0.1.0 has it, whose processes refuse a consumer with another one. */
const handledMs = 10_000;
/** The server may write a copy later than its report, so a missing copy is looked for this often. */
const mostLooks = 3;
/**
 * The reason when a message was removed while a consumer still counted it as unacknowledged. Either it was
 * acknowledged, and a killed server remembers the removal but not the acknowledgement, or an operator purged it. In both
 * cases nothing is lost.
 */
const removedBefore = 'Unacknowledged message was deleted';

type AdvisoryParts = ConsumptionParts & { readonly publisher: NatsPublisher };

/** Begins to handle the advisories. Processes on one broker share them (V1, V2). */
export async function consumeAdvisories(parts: AdvisoryParts): Promise<Consumption> {
  const { connection } = parts;
  const { stream } = connection.names;
  const address: Address = { queue: 'advisories', stream: stream.advisories, subject: '>', durable: 'advisories' };
  const ensure = async (): Promise<void> => {
    await connection.jsm.consumers.add(address.stream, {
      durable_name: address.durable,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(handledMs),
    });
  };
  await connection.asked('Cannot consume the advisories of JetStream', ensure);
  const offer = (offered: BrokerOffer): void => {
    const isLastLook = offered.attempt >= mostLooks;
    void bury(parts, { bytes: offered.bytes, isLastLook }).then(
      () => offered.settle({ kind: 'done' }),
      (error: unknown) => offered.settle({ kind: 'retry', delayMs: againMs, error: String(error) }),
    );
  };
  const consumption = new Consumption({
    ...parts,
    address,
    ensure,
    isAlone: async () => false,
    intake: { concurrency: 1, offer },
  });
  await consumption.activate({ alone: false });
  return consumption;
}

/** @throws Error when the copy is missing and this is not the last look. */
async function bury(
  parts: AdvisoryParts,
  { bytes, isLastLook }: { bytes: string | Uint8Array; isLastLook: boolean },
): Promise<void> {
  let advisory: Advisory;
  try {
    advisory = JSON.parse(Buffer.from(bytes).toString()) as Advisory;
  } catch {
    return;
  }
  const { stream = '', consumer = '', stream_seq: seq = 0, deliveries = 0, reason: said } = advisory;
  if (said === removedBefore) return;
  const { connection, graveyard, publisher, topology, now } = parts;
  const queue = nameOfSubject(consumer);
  const reason = said === undefined ? `The server gave up after ${deliveries} deliveries.` : `Terminated: ${said}.`;
  const origin = `advisory:${stream}:${consumer}:${seq}`;
  const address = connection.names.address(queue);
  const stored = await connection.at(stream, seq);
  const content = stored?.data ?? (await copyOf(connection, { subject: address.subject, seq }))?.data;
  if (!content && !isLastLook) throw new Error(`no copy of message ${seq} of ${stream} yet`);
  const subject = stored?.header.get(subjectHeader) ?? '';
  connection.log.error(
    { queue, seq, deliveries, reason },
    'NATS server stopped delivering a message; message moved to dead letters',
  );
  if (!content) {
    const at = now().toISOString();
    await graveyard.bury({
      letter: {
        queue,
        diedAt: at,
        attempts: deliveries,
        failure: { code: 'Defect', message: `${reason} Its bytes are gone.` },
        history: [{ at, error: reason }],
      },
      bytes: new Uint8Array(),
      subject: undefined,
      origin,
    });
    return;
  }
  await topology.ensure(address);
  await publisher.publish({
    subject: address.subject,
    bytes: content,
    headers: { ...givenUpHeaders({ deliveries, reason }), ...(subject !== '' && { [subjectHeader]: subject }) },
    id: origin,
  });
  if (stored && stream !== connection.names.stream.events) await connection.forget(stream, seq);
}
