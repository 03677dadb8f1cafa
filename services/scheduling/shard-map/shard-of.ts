/** The shard of a stack: FNV-1a over its id. Must never change between releases, because stored stacks depend on it. */
export function shardOf(stackId: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < stackId.length; index += 1) {
    hash = Math.imul(hash ^ stackId.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % shards;
}
