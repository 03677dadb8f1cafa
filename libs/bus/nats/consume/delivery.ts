/** The data on a message: our headers, and the facts that JetStream writes into the reply subject of a delivery. */
import type { Msg } from '@nats-io/transport-node';

/** The content type of the data. */
export const contentTypeHeader = 'content-type';
/** The subject of the message, which orders events. */
export const subjectHeader = 'Anneal-Subject';
/** How long the message may wait, in milliseconds. */
export const ttlHeader = 'Anneal-Ttl';

/** The facts of one delivery that the server counts. */
export interface DeliveryFacts {
  readonly ack: string;
  readonly seq: number;
  /** Counts this delivery too. */
  readonly deliveries: number;
  readonly storedAtMs: number;
}

/** The reason of the server, on a message that returns to its queue to die there. */
export interface GivenUp {
  readonly deliveries: number;
  readonly reason: string;
}

const givenUpHeader = 'Anneal-Given-Up';

/** The headers that carry the reason of the server. */
export const givenUpHeaders = (givenUp: GivenUp): Record<string, string> => ({
  [givenUpHeader]: encodeURIComponent(JSON.stringify(givenUp)),
});

/** The reason of the server for a message that it gave up, or undefined for any other message. */
export function givenUpOf({ headers }: Msg): GivenUp | undefined {
  const text = headers?.get(givenUpHeader) ?? '';
  return text === '' ? undefined : (JSON.parse(decodeURIComponent(text)) as GivenUp);
}

/** `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>[.<token>]` */
export function deliveryFacts(message: Msg): DeliveryFacts | undefined {
  const ack = message.reply ?? '';
  const tokens = ack.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || tokens.length < 9) return undefined;
  const from = tokens.length >= 11 ? 6 : 4;
  return {
    ack,
    deliveries: Number(tokens[from]),
    seq: Number(tokens[from + 1]),
    storedAtMs: Number(tokens[from + 3]) / 1e6,
  };
}

/** An acknowledgement for a message that another process had in hand. */
export const ackSubject = (parameters: { stream: string; durable: string; seq: number; consumerSeq: number }): string =>
  `$JS.ACK.${parameters.stream}.${parameters.durable}.1.${parameters.seq}.${parameters.consumerSeq}.0.0`;
