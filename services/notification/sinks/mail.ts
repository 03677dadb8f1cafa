/** Mail, through the SMTP server of the operator. The same message has the same Message-ID, so a repeat is recognised. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { subscriptionEvent } from '@anneal/contracts/events.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { originSchema, pathFrom } from '@anneal/contracts/origin.ts';
import type { Transporter } from 'nodemailer';
import type { DeliveryOutcome } from './outcome.ts';
import { notification } from './rendering.ts';
import { accepted, awayBecause, reasonOf, type EventSink } from './sink.ts';

/** The server that takes mail, and the sender that it allows. */
export interface MailServer {
  /** `smtp://user:password@host:port`, or `smtps://…`. */
  readonly url: string;
  readonly from: string;
  readonly timeoutMs: number;
}

/** The most events that a mail lists. It counts all of them. */
const mostListed = 100;

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** A mail. Its Message-ID follows from `id`. */
export interface MailMessage extends MailText {
  readonly id: string;
  readonly recipients: readonly string[];
  readonly cc?: readonly string[];
  readonly bcc?: readonly string[];
  readonly replyTo?: readonly string[];
  readonly html?: string | null;
}

/** A mail about an event, or about the events of a digest. Pure. */
export function mailAbout(event: Envelope, { name, id }: { name: string; id: string }): MailText {
  const footer = `\n\nSubscription ${name === '' ? id : `${name} (${id})`}. To end it: anneal subscription delete ${id}\n`;
  const data: Readonly<Record<string, Json>> = isObject(event.data) ? event.data : {};
  const listed = event.type === subscriptionEvent.digest.type ? eventsIn(data['events']) : undefined;
  if (!listed) return { subject: `[Anneal] ${lineOf(event, { withTime: false })}`, text: `${lineOf(event)}${footer}` };
  const counts = Object.entries(isObject(data['types']) ? data['types'] : {}).map(
    ([type, count]) => [type, String(Number(count))] as const,
  );
  const lines = listed.slice(0, mostListed).map((each) => lineOf(each));
  const left = listed.length - lines.length;
  return {
    subject: `[Anneal] ${listed.length} events: ${counts.map(([type, count]) => `${count} ${type}`).join(', ')}`,
    text:
      [
        ...counts.map(([type, count]) => `${count.padStart(6)}  ${type}`),
        '',
        ...lines,
        ...(left > 0 ? [`… and ${left} more: anneal event list`] : []),
      ].join('\n') + footer,
  };
}

const eventsIn = (given: Json | undefined): Envelope[] =>
  Array.isArray(given) ? (given as unknown as Envelope[]) : [];

function lineOf({ time, type, subject, data: given }: Envelope, { withTime = true } = {}): string {
  const data: Readonly<Record<string, Json>> = isObject(given) ? given : {};
  const origin = originSchema.safeParse(data['origin']);
  const place = origin.success ? pathFrom(origin.data) : '';
  const about = place === '' ? (subject ?? '') : place;
  const why = typeof data['reason'] === 'string' ? data['reason'].split('\n')[0] : '';
  return [withTime && time, type, about, why]
    .filter((part): part is string => typeof part === 'string' && part !== '')
    .join('  ')
    .slice(0, 500);
}

interface MailSubscription {
  readonly id: string;
  readonly name: string;
  /** For a subscription to a queue, whose options may give a `subject`. */
  readonly queue?: { readonly name: string; readonly options: JsonObject };
}

/** The mail of Zaqar for a message of a queue: its text is the notification. A line break would begin a header. */
function mailOfMessage(event: Envelope, { name, options }: NonNullable<MailSubscription['queue']>): MailText {
  const { subject } = options;
  const given = typeof subject === 'string' ? subject.replaceAll(/[\r\n]+/g, ' ').slice(0, 500) : '';
  return {
    subject: given === '' ? `[Anneal] Message of the queue ${name}` : given,
    text: notification(event, options).body,
  };
}

export function openMailSink({
  server,
  recipients,
  subscription,
}: {
  server: MailServer;
  recipients: readonly string[];
  subscription: MailSubscription;
}): EventSink {
  const transport = transportOf(server);
  const mailOf = (event: Envelope): MailText =>
    subscription.queue ? mailOfMessage(event, subscription.queue) : mailAbout(event, subscription);
  return {
    async send({ id, events: [event, ...more] }) {
      const { subject, text } = mailOf(event);
      const rest = more.map((each) => mailOf(each).text);
      const mail = { id, recipients, subject, text: [text, ...rest].join('\n') };
      return (await sendMail(await transport, server, mail)).outcome;
    },
    close: async () => (await transport).close(),
  };
}

async function transportOf({ url, timeoutMs }: MailServer): Promise<Transporter> {
  // Few servers send mail, and the package takes memory.
  const { createTransport } = await import('nodemailer');
  return createTransport({
    url,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** The outcome of a mail that the server has accepted for some recipients at least, and the refused ones. */
export interface SentMail {
  readonly outcome: DeliveryOutcome;
  readonly rejected: readonly string[];
}

/** Sends one mail, without a subscription's sink. Never rejects. */
export async function sendOneMail(server: MailServer, mail: MailMessage): Promise<SentMail> {
  const transport = await transportOf(server);
  try {
    return await sendMail(transport, server, mail);
  } finally {
    transport.close();
  }
}

async function sendMail(
  transport: Transporter,
  { from }: MailServer,
  { id, recipients, subject, text, cc = [], bcc = [], replyTo = [], html = null }: MailMessage,
): Promise<SentMail> {
  try {
    const sent = (await transport.sendMail({
      from,
      to: [...recipients],
      cc: [...cc],
      bcc: [...bcc],
      replyTo: [...replyTo],
      subject,
      text,
      ...(html !== null && { html }),
      messageId: `<${id}@${from.split('@').at(-1)?.replace(/>$/, '') ?? 'anneal'}>`,
      // So that programs that answer mail do not answer this one.
      headers: { 'Auto-Submitted': 'auto-generated' },
    })) as { rejected?: readonly unknown[] };
    return { outcome: accepted, rejected: (sent.rejected ?? []).map(String) };
  } catch (error) {
    // The server refuses this mail or its recipients for good. It refuses a login because of a setting, which may change.
    const { responseCode: code = 0, command = '' } = error as { responseCode?: number; command?: string };
    const isRefused = code >= 500 && ['MAIL FROM', 'RCPT TO', 'DATA'].includes(command);
    const refused = { status: 422, error: reasonOf(error), retryAfter: null };
    return { outcome: isRefused ? refused : awayBecause(error), rejected: [] };
  }
}
