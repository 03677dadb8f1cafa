/**
 * Tickets for event streams. A browser's `EventSource` and `WebSocket` send no headers, so a page opens its stream with a ticket
 * in the address. A ticket opens streams of one filter in one project until it expires, and allows nothing else. It is signed,
 * not stored; the log of the server has no addresses.
 */
import { jsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';

const ticketSchema = z.object({
  project: z.string(),
  types: z.array(z.string()),
  subject_prefix: z.string(),
  filters: z.array(jsonObject),
  /** In seconds since the epoch. */
  expires: z.number().int(),
});
export type EventTicket = z.infer<typeof ticketSchema>;

const prefix = 'events';
/** An address longer than this does not pass every proxy. */
export const mostTicketLength = 4096;

/** Safe in a query. */
export function ticketText(secrets: Secrets, ticket: EventTicket): string {
  const body = `${prefix}.${Buffer.from(JSON.stringify(ticket)).toString('base64url')}`;
  return `${body}.${secrets.sign(body)}`;
}

/** Undefined for a text that is not a ticket of ours, or has expired. */
export function readTicket(secrets: Secrets, text: string, now: number): EventTicket | undefined {
  const [kind, body, mac, ...rest] = text.split('.');
  if (kind !== prefix || body === undefined || mac === undefined || rest.length > 0) return undefined;
  if (!secrets.isSigned(`${prefix}.${body}`, mac)) return undefined;
  const ticket = ticketSchema.parse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  return ticket.expires * 1000 > now ? ticket : undefined;
}
