/** The dependencies of runs. */
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SharedOutbox } from '@anneal/runtime/work/shared-outbox.ts';
import type { ConfigurationCollections, ConfigurationResource, MessageDocument } from '../../collections.ts';
import type { HostContext } from '../../hosts/host.ts';
import type { QueueContext } from '../../queues/queue.ts';
import type { RunTimerContext } from './run-timer.ts';

export interface RunContext extends RunTimerContext {
  readonly service: ServiceContext;
  readonly collections: ConfigurationCollections;
  readonly queues: QueueContext;
  /** Sends the responses and events of resources. */
  readonly outbox: SharedOutbox<ConfigurationResource>;
  /** Reports when hosts took their requests: `acceptances.ts`. */
  readonly acceptances: {
    readonly note: (message: MessageDocument) => void;
    readonly remember: (message: MessageDocument) => void;
    readonly timeOf: (run: string) => string | undefined;
    readonly settle: (run: string) => void;
  };
  /** Looks at a context again, because a run of one of its configs has ended. */
  readonly wakeContext: (id: string) => void;
}

/** The dependencies of work on the messages of hosts. */
export type HostMessageContext = RunContext & HostContext & { readonly responseKeepSeconds: number };
