/**
 * The listener of the bench of events, in a process of its own. It answers each request with 204, at once or after a
 * time, and notes how old each event was on arrival. It ends when the parent ends.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export type ListenerQuestion =
  | { readonly kind: 'answer after'; readonly milliseconds: number }
  /** Answered when so many events have arrived since the last `take`. */
  | { readonly kind: 'await'; readonly events: number }
  | { readonly kind: 'take' };
export type ListenerAnswer =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'reached' }
  | {
      readonly kind: 'taken';
      readonly requests: number;
      readonly events: number;
      /** Age on arrival, in milliseconds. */
      readonly ages: readonly number[];
      /** Events that arrived before an earlier one of the same subject and path. */
      readonly disordered: number;
    };

interface Arrived {
  readonly time: string;
  readonly subject: string;
  readonly data: { readonly version: number };
}

const tell = (answer: ListenerAnswer): void => void process.send?.(answer);
let waitMs = 0;
let awaited = Infinity;
let requests = 0;
let disordered = 0;
let ages: number[] = [];
const latest = new Map<string, number>();

function note(path: string, { time, subject, data }: Arrived): void {
  ages.push(Date.now() - Date.parse(time));
  const key = `${path} ${subject}`;
  if (data.version < (latest.get(key) ?? 0)) disordered += 1;
  latest.set(key, data.version);
}

// On a loaded machine a sender may need longer than Node's five seconds between two requests.
const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.once('end', () => {
    requests += 1;
    const body = JSON.parse(Buffer.concat(parts).toString()) as Arrived | Arrived[];
    for (const each of [body].flat()) note(incoming.url ?? '', each);
    if (ages.length >= awaited) {
      awaited = Infinity;
      tell({ kind: 'reached' });
    }
    const answer = (): void => void outgoing.writeHead(204).end();
    if (waitMs === 0) answer();
    else void delay(waitMs).then(answer);
  });
});
process.once('disconnect', () => process.exit());
process.on('message', (question: ListenerQuestion) => {
  if (question.kind === 'answer after') waitMs = question.milliseconds;
  else if (question.kind === 'await') {
    awaited = question.events;
    if (ages.length >= awaited) {
      awaited = Infinity;
      tell({ kind: 'reached' });
    }
  } else {
    tell({ kind: 'taken', requests, events: ages.length, ages, disordered });
    [requests, ages, disordered] = [0, [], 0];
    latest.clear();
  }
});
server.listen(0, '127.0.0.1', () => {
  tell({ kind: 'ready', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
