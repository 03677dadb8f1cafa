/** Moves what the store says of the stacks of a shard to the shards that the stacks belong to after a growth. */
import type { Collections } from './collections.ts';
import { shardOf } from './shard-of.ts';

/** May be repeated. Nothing of these stacks may be in progress in this process, and no other one takes them. */
export async function moveStacks(
  { journal, held }: Pick<Collections, 'journal' | 'held'>,
  { shard, count }: { shard: number; count: number },
): Promise<void> {
  // A closed record is written anew by whoever has the stack next; an open one is looked for by its shard.
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
