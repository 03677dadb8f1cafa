/** The dependencies of runs. */
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { ConfigurationCollections } from '../collections.ts';
import type { QueueContext } from '../queues/queue.ts';
import type { RunTimerContext } from './run-timer.ts';

export interface RunContext extends RunTimerContext {
  readonly service: ServiceContext;
  readonly collections: ConfigurationCollections;
  readonly queues: QueueContext;
  /** Looks at a context again, because a run of one of its configs has ended. */
  readonly wakeContext: (id: string) => void;
}
