/** Removes everything under the prefix of a URL: streams, consumers, messages. */
import { JetStreamConnection } from './connection.ts';
import type { BusLog } from '../bus-log.ts';

/** Removes every stream and consumer of the prefix. A repeat is harmless. */
export async function dropNatsPrefix({ url, log }: { url: string; log: BusLog }): Promise<void> {
  const connection = await JetStreamConnection.open({ url, name: 'anneal/drop', id: 'drop', log });
  const names = new Set(Object.values(connection.names.stream));
  for await (const name of connection.jsm.streams.names())
    if (names.has(name)) await connection.jsm.streams.delete(name);
  await connection.close();
}
