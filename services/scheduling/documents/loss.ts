/** The losses of servers in the store. */
import type { Document } from '@anneal/store/port.ts';
import { z } from 'zod';

/** A sign that a server is lost. Its resource has the id of its host and of its node's instance. */
export const lossSchema = z
  .object({
    server: z.string(),
    /** Its host fell silent, or its node got a fault. */
    sign: z.enum(['silence', 'fault']),
    /** The fault of the node. */
    reason: z.string().exactOptional(),
    since: z.string(),
    /** The event that reported it. */
    event: z.string(),
  })
  .readonly();
export type Loss = z.infer<typeof lossSchema>;

/** The id of a present loss, and of its timer. */
export const lossId = ({ server, sign }: Pick<Loss, 'server' | 'sign'>): string => `lost:${server}:${sign}`;

/** A present loss, with the root of the tree of the server. */
export interface LossDocument extends Document, Loss {
  readonly root: string;
}
