/** How this process is called at the broker, so that an operator sees whose connections and queues stand there. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

export interface ProcessName {
  /** Of its connections: `anneal.scheduling@host-4711`. */
  readonly connection: string;
  /** Of what belongs to it alone, and unlike that of any other process, also of the next one with its number: `scheduling.host-4711-3f9a1c2b`. */
  readonly replica: string;
}

const word = (text: string): string => text.replace(/[^A-Za-z0-9-]+/g, '-').slice(0, 60);

/** `source` is the name of the service, with or without `anneal` before it. */
export function nameProcess(source: string): ProcessName {
  const service = word(source.replace(/^anneal[./]?/, '')) || 'all';
  const place = `${word(hostname().split('.')[0] ?? '')}-${process.pid}`;
  return {
    connection: `anneal.${service}@${place}`,
    replica: `${service}.${place}-${randomBytes(4).toString('hex')}`,
  };
}
