/** The losses of servers in the store. */
import type { Document } from '@anneal/store/port.ts';

/** A sign that a server is lost. Its resource has the id of its host and of its node's instance. */
export interface Loss {
  readonly server: string;
  /** Its host fell silent, or its node got a fault. */
  readonly sign: 'silence' | 'fault';
  /** The fault of the node. */
  readonly reason?: string;
  readonly since: string;
  /** The event that reported it. */
  readonly event: string;
}

/** A present loss, with the root of the tree of the server. Its id is that of its timer. */
export interface LossDocument extends Document, Loss {
  readonly root: string;
}
