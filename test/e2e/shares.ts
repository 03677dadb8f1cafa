/** The partitions by machine, as the workers of the example wrote them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestServer } from './server.ts';

/** The share of each machine of the lab that has one, also of those that Anneal has given up. */
export async function sharesOf(
  server: Pick<TestServer, 'data'>,
  machines: readonly string[],
): Promise<Record<string, number[]>> {
  const found = await Promise.all(
    machines.map(async (machine): Promise<[string, number[]][]> => {
      const file = join(server.data, 'lab', 'machines', machine, 'disk', 'root', 'share', 'partitions');
      const text = await readFile(file, 'utf8').catch(() => undefined);
      return text === undefined ? [] : [[machine, text.split('\n').filter(Boolean).map(Number)]];
    }),
  );
  return Object.fromEntries(found.flat());
}
