/** The request behind the work of a node. Pure. */
import { noPlace, type Occasion } from '@anneal/contracts/origin.ts';
import type { NodeChange, NodeDocument } from '../documents/node.ts';

/** The node stays where it is; from now on the events of its work name this request. */
export const askedBy = ({ origin }: NodeDocument, occasion: Occasion | undefined): Pick<NodeChange, 'origin'> =>
  occasion ? { origin: { ...noPlace, ...origin, ...occasion } } : {};
