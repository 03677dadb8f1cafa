/** Gives a worker access to the blobs of the store, through the service's thread. */
import type { AskService } from '@anneal/runtime/work/worker-thread.ts';
import type { Blobs } from '@anneal/store/port.ts';

type Request = { readonly get: string } | { readonly put: Uint8Array };
type TaskBlobs = Pick<Blobs, 'put' | 'getText'>;

export function remoteBlobs(ask: AskService): TaskBlobs {
  return {
    getText: async (hash) => (await ask({ get: hash } satisfies Request)) as string | undefined,
    async put(content) {
      // Encode in the worker and transfer the buffer, so that a large plan costs the service's thread no copy.
      const bytes = new TextEncoder().encode(content as string);
      return (await ask({ put: bytes } satisfies Request, [bytes.buffer])) as string;
    },
  };
}

/** Serves the requests of {@link remoteBlobs} in the service's thread. */
export function serveBlobs(blobs: TaskBlobs): (request: unknown) => Promise<unknown> {
  return (request) => {
    const asked = request as Request;
    return 'get' in asked ? blobs.getText(asked.get) : blobs.put(asked.put);
  };
}
