/**
 * Turns messages that the server itself gives up on into dead letters: a message that reached the server's limit of
 * deliveries, or that a foreign consumer terminated. A stream keeps the advisories until a process has stored their
 * dead letters.
 */
import { AckPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Offer } from '../broker.ts';
import { Consumption } from './consumer.ts';
import { subjectHeader } from './delivery.ts';
import type { ConsumptionParts } from './settle.ts';
import { nameOf, type Address } from './names.ts';
import { ackWaitMs } from './topology.ts';

interface Advisory {
  readonly stream?: string;
  readonly consumer?: string;
  readonly stream_seq?: number;
  readonly deliveries?: number;
  readonly reason?: string;
}

const againMs = 1_000;
/**
 * The reason when a message was removed while a consumer still counted it as unacknowledged. Either it was
 * acknowledged, and a killed server remembers the removal but not the acknowledgement, or an operator purged it. In both
 * cases nothing is lost.
 */
const removedBefore = 'Unacknowledged message was deleted';

export async function consumeAdvisories(parts: ConsumptionParts): Promise<Consumption> {
  const { link } = parts;
  const { stream } = link.names;
  const address: Address = { queue: 'advisories', stream: stream.advisories, subject: '>', durable: 'advisories' };
  const ensure = async (): Promise<void> => {
    await link.jsm.consumers.add(address.stream, {
      durable_name: address.durable,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
    });
  };
  await link.asked('The advisories of JetStream cannot be consumed', ensure);
  const offer = (offered: Offer): void => {
    void bury(parts, offered.bytes).then(
      () => offered.settle({ kind: 'done' }),
      (error: unknown) => offered.settle({ kind: 'retry', delayMs: againMs, error: String(error) }),
    );
  };
  const consumption = new Consumption({
    ...parts,
    address,
    ensure,
    intake: { concurrency: 1, offer },
  });
  await consumption.activate({ alone: false });
  return consumption;
}

async function bury({ link, graveyard, now }: ConsumptionParts, bytes: string | Uint8Array): Promise<void> {
  let advisory: Advisory;
  try {
    advisory = JSON.parse(Buffer.from(bytes).toString()) as Advisory;
  } catch {
    return;
  }
  const { stream = '', consumer = '', stream_seq: seq = 0, deliveries = 0, reason } = advisory;
  if (reason === removedBefore) return;
  const queue = nameOf(consumer);
  const message = await link.at(stream, seq);
  const text = reason === undefined ? `The server gave up after ${deliveries} deliveries.` : `Terminated: ${reason}.`;
  link.log.error({ queue, seq, deliveries }, 'The NATS server gave a message up; it is a dead letter now.');
  const at = now().toISOString();
  await graveyard.bury({
    letter: {
      queue,
      diedAt: at,
      attempts: deliveries,
      // A terminated message of a work queue is removed before the advisory arrives: then the letter has no bytes.
      failure: { code: 'Defect', message: message ? text : `${text} Its bytes are gone.` },
      history: [{ at, error: text }],
    },
    bytes: message?.data ?? new Uint8Array(),
    subject: message?.header.get(subjectHeader),
    origin: `advisory:${stream}:${consumer}:${seq}`,
  });
  if (message && stream !== link.names.stream.events) await link.forget(stream, seq);
}
