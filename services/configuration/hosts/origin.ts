/** The origin of the events of a host. */
import { noPlace, systemOccasion, type Actor, type Occasion, type Origin } from '@anneal/contracts/origin.ts';
import type { HostDocument } from '../collections.ts';

type Located = Pick<HostDocument, 'id' | 'name' | 'place'>;

/** The host itself acts when it asks for work, or reports. */
export const actorOfHost = ({ id, name }: Located): Actor => ({ kind: 'host', id, name });

/** The origin of an event that no request caused. Without an actor the system noticed it. */
export const originOfHost = (
  host: Located,
  { actor, kind, reason }: { actor?: Actor; kind?: Occasion['cause']['kind']; reason: string },
): Origin => ({ ...(host.place ?? noPlace), ...systemOccasion(kind, { reason }), ...(actor && { actor }) });
