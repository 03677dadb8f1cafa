/** Gives a worker what only the service's thread has: the blobs of the store, and the resource types. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { AskService } from '@anneal/runtime/work/worker-thread.ts';
import type { Blobs } from '@anneal/store/port.ts';
import type { RemoteTask, Task } from './task.ts';
import { type ServedType, versionOf } from './resource-types.ts';

type Request = { readonly blob: string } | { readonly types: string };

/** The lists of types that a task in work may name: the current one, and some from before the latest announcements. */
const mostLists = 4;

/** In the worker: reads through the service's thread. It keeps the types of the last task. */
export function createRemote(ask: AskService): {
  readonly blobs: Pick<Blobs, 'getText'>;
  readonly taskOf: (task: RemoteTask) => Promise<Task>;
} {
  let known: { readonly version: string; readonly types: readonly ResourceType[] } | undefined;
  return {
    blobs: { getText: async (hash) => (await ask({ blob: hash } satisfies Request)) as string | undefined },
    taskOf: async ({ types: version, ...task }) => {
      if (known?.version !== version) {
        const types = (await ask({ types: version } satisfies Request)) as readonly ResourceType[];
        known = { version, types };
      }
      return { ...task, question: parseExact(task.question), types: known.types } as unknown as Task;
    },
  };
}

/** In the service's thread: names the types in tasks by their version, and answers the requests of the workers. */
export function serveRemote(blobs: Pick<Blobs, 'getText'>): {
  toRemote(task: Task, types: readonly ServedType[]): RemoteTask;
  serve(request: unknown): Promise<unknown>;
} {
  const lists = new Recent<readonly ServedType[]>(mostLists);
  return {
    toRemote(task, types) {
      const version = versionOf(types);
      lists.set(version, types);
      return { ...task, question: JSON.stringify(task.question), types: version };
    },
    async serve(request) {
      const asked = request as Request;
      if ('blob' in asked) return blobs.getText(asked.blob);
      const types = lists.get(asked.types);
      // The task waited while the types changed several times. Its next try names the current ones.
      if (!types) throw new AnnealError('Unavailable', 'The resource types have changed; compile again.');
      return types;
    },
  };
}
