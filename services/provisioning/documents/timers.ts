/** The timers of this service in the store. */
import { isObject } from '@anneal/contracts/json.ts';
import { createTimerCodec } from '@anneal/runtime/time/timer-codec.ts';
import { z } from 'zod';

const timerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('node'), node: z.string() }),
  z.object({ kind: z.literal('server'), server: z.string() }),
]);
type ProvisioningTimer = z.infer<typeof timerSchema>;

/** Reads and writes the collection `provisioning_timers`: work on a node or a server continues. */
export const provisioningTimers = createTimerCodec<ProvisioningTimer>({
  schema: timerSchema,
  idOf: (timer) => {
    switch (timer.kind) {
      case 'node':
        return `node:${timer.node}`;
      case 'server':
        return `server:${timer.server}`;
    }
  },
  earlier: ({ data }) => (isObject(data) ? { ...data, kind: data['node'] === undefined ? 'server' : 'node' } : data),
});
