/** The shards that a replica has opened. It opens more when their number grows. */
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { OpenShard } from './shard.ts';
import type { Shards } from '../shard-map/shards.ts';

export class OpenShards {
  readonly #open: (shard: number) => Promise<OpenShard>;
  readonly #opened: OpenShard[] = [];
  #growing = Promise.resolve();

  constructor(open: (shard: number) => Promise<OpenShard>) {
    this.#open = open;
  }

  /** Resolves when all shards are open, and follows their number from then on. */
  async follow(shards: Shards, log: Pick<ServiceContext['log'], 'error'>): Promise<void> {
    await this.#openUpTo(shards.count);
    shards.watch(() => {
      for (const shard of this.#opened) shard.enterAgain();
      this.#growing = this.#growing
        .then(() => this.#openUpTo(shards.count))
        .catch((error: unknown) => log.error({ err: error }, 'new shards not opened; restart this replica'));
    });
  }

  /** Resolves when no shard is being opened. */
  settled(): Promise<void> {
    return this.#growing;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#opened.map((shard) => shard.stop()));
  }

  async #openUpTo(count: number): Promise<void> {
    const missing = Array.from({ length: count - this.#opened.length }, (_, index) => this.#opened.length + index);
    this.#opened.push(...(await Promise.all(missing.map(this.#open))));
  }
}
