/** The name of this process at the broker, so that an operator sees which process owns a connection or queue. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** The names of this process at the broker. */
export interface ProcessName {
  /** Name of its connections: `anneal.scheduling@host-4711`. */
  readonly connection: string;
  /**
   * Name of what belongs to this process alone. Unique, also against a later process with the same pid:
   * `scheduling.host-4711-3f9a1c2b`.
   */
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
