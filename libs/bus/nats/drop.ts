/** Removes everything under the prefix of a URL: streams, consumers, messages. */
import type { BusLog } from '../broker.ts';
import { Link } from './connection.ts';

export async function dropNatsPrefix({ url, log }: { url: string; log: BusLog }): Promise<void> {
  const link = await Link.open({ url, name: 'anneal/drop', id: 'drop', log });
  const names = new Set(Object.values(link.names.stream));
  for await (const name of link.jsm.streams.names()) if (names.has(name)) await link.jsm.streams.delete(name);
  await link.close();
}
