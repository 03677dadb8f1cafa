/**
 * The end of a message: the processes that wait for it are notified before it is stored as a dead letter (B7). When
 * this process dies between the two, another notifies again, so that no wait lasts for ever.
 */
import { answerSchema, answerType, type Envelope } from '@anneal/contracts/envelope.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import { requestDied } from '@anneal/contracts/resource.ts';
import { randomBytes } from 'node:crypto';
import type { Broker } from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import { holderOf, type ClaimChecks } from '../send/claim-checks.ts';
import type { Codec } from '../codec.ts';
import type { NotifyRequester } from './consumer.ts';
import type { ConsumeOptions, Death } from '../port.ts';

/** Ends messages for good: notifies the requester, then stores the dead letter. */
export function createDeaths(options: {
  broker: Broker;
  codec: Codec;
  claimChecks: Pick<ClaimChecks, 'died'>;
  log: BusLog;
}) {
  const { broker, codec, claimChecks, log } = options;
  const newLetter = createLetterIds();

  const answerRequester = async ({ letter, queue, message, failure }: Death): Promise<void> => {
    const { replyto } = message ?? {};
    if (!message || replyto === undefined) return;
    if (!broker.isInbox(replyto)) {
      const { id, type, subject } = message;
      const request = { id, type, ...(subject !== undefined && { subject }) };
      const data = { dead_letter: letter, queue, request, failure };
      const packet = await codec.encode(inPlaceOf(message, { type: requestDied.type, id: `${letter}:died`, data }), {
        kind: 'queue',
        queue: replyto,
      });
      await broker.send({ queue: replyto, packets: [packet] });
      return;
    }
    const data = answerSchema.parse({ ok: false, failure });
    const packet = await codec.encode(
      inPlaceOf(message, { type: answerType(message.type), id: `${letter}:answer`, data }),
      { kind: 'once' },
    );
    // Neither questions nor answers are durable: a requester without an answer has its deadline.
    await broker.answer({ inbox: replyto, packet }).catch((error: unknown) => {
      log.warn({ queue, letter, err: error }, 'requester of a dead letter not answered; its deadline ends the wait');
    });
  };

  return (onDeath: ConsumeOptions['onDeath']): NotifyRequester =>
    async ({ queue, bytes, failure }) => {
      const letter = newLetter();
      // Without bytes, the waiting processes are not known.
      if (bytes.length === 0) return letter;
      const message = await codec.salvage(bytes);
      const death: Death = { letter, queue, message, failure: naming(failure, letter, queue) };
      await answerRequester(death);
      await onDeath?.(death);
      // The dead letter must find its data for as long as it exists.
      if (message?.dataref !== undefined) await claimChecks.died(message, letter, holderOf(queue));
      return letter;
    };
}

/** The failure, with the dead letter named for people and for programs. */
const naming = (failure: Failure, letter: string, queue: string): Failure => ({
  ...failure,
  message: `${failure.message} The message is dead letter ${letter} of ${queue}.`,
  remedy: `See \`anneal dead-letter show ${letter}\`; fix the cause, then try the action again.`,
  details: { ...failure.details, dead_letter: letter, queue },
});

/** The message that replaces an answer: all but its type, id and data comes from the question. */
const inPlaceOf = (
  { project, traceparent, subject, correlationid, id: causationid }: Envelope,
  given: { type: string; id: string; data: unknown },
): Envelope => ({
  specversion: '1.0',
  source: 'anneal/bus',
  time: new Date().toISOString(),
  datacontenttype: 'application/json',
  correlationid,
  causationid,
  ...given,
  ...(subject !== undefined && { subject }),
  ...(project !== undefined && { project }),
  ...(traceparent !== undefined && { traceparent }),
});

/** Ids in the order of death, also within one millisecond. */
function createLetterIds(): () => string {
  let count = 0;
  return () => {
    count = (count + 1) % 1_000_000;
    const order = `${String(Date.now()).padStart(15, '0')}-${String(count).padStart(6, '0')}`;
    return `${order}-${randomBytes(4).toString('hex')}`;
  };
}
