/** Moves the stored records and held requests of a shard to the shards that their stacks belong to after a growth. */
import type { SchedulingCollections } from '../collections.ts';
import { shardOf } from './shard-of.ts';

/** Safe to repeat. The caller makes sure that no step of these stacks runs, in this process or in another. */
export async function moveStacks(
  { journal, held }: Pick<SchedulingCollections, 'journal' | 'held'>,
  { shard, count }: { shard: number; count: number },
): Promise<void> {
  // Move open records only, because recovery finds them by shard. The next owner overwrites a closed record.
  const open = await journal.find({ where: { open: true, shard } });
  await journal.bulk(
    open
      .filter((record) => shardOf(record.id, count) !== shard)
      .map(({ version, ...record }) => ({
        kind: 'replace',
        document: { ...record, shard: shardOf(record.id, count) },
        version,
      })),
  );
  const waiting = await held.find({ where: { shard } });
  await held.bulk(
    waiting
      .filter((request) => shardOf(request.stack, count) !== shard)
      .map(({ version, ...request }) => ({
        kind: 'replace',
        document: { ...request, shard: shardOf(request.stack, count) },
        version,
      })),
  );
}
