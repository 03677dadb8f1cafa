/** The operators' view of the queues. Everything runs in the tick, after the sends and settlements before it. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { BrokerQueues } from '../broker.ts';
import type { QueueMeasure } from '../port.ts';
import type { Lane } from './lane.ts';
import type { Tick } from './tick.ts';

/** The operators' view of the queues. */
export function createEmbeddedQueues({ database, lanes, now, inTick }: Tick): BrokerQueues {
  const measureOf = (lane: Lane): QueueMeasure => {
    const id = lane.id ?? 0;
    const rows = Number(database.get('SELECT count(*) AS n FROM messages WHERE queue = ?', id)?.['n']);
    const oldest = database.get('SELECT sent_at FROM messages WHERE queue = ? ORDER BY seq LIMIT 1', id)?.['sent_at'];
    const inHand = [...lane.inHand.values()];
    return {
      name: lane.name,
      depth: rows - inHand.filter(({ item }) => item.kept).length + lane.waitingInMemory(now().getTime()),
      inFlight: inHand.length,
      consumers: lane.members.length,
      oldestAgeMs: typeof oldest === 'number' ? Math.max(0, now().getTime() - oldest) : null,
    };
  };

  const dropWaiting = (lane: Lane): number => {
    const inHand = JSON.stringify([...lane.inHand.keys()]);
    const questions = lane.waitingInMemory(now().getTime());
    lane.clear();
    const sql = 'DELETE FROM messages WHERE queue = ? AND seq NOT IN (SELECT value FROM json_each(?))';
    return database.write(sql, lane.id ?? 0, inHand) + questions;
  };

  return {
    declare: (queue) =>
      inTick(() => {
        lanes.open(queue);
      }),
    list: (prefix = '') =>
      inTick(() =>
        [...lanes.all()]
          .filter(({ id, name }) => id !== undefined && name.startsWith(prefix))
          .map(measureOf)
          .sort((one, other) => (one.name < other.name ? -1 : 1)),
      ),
    measure: (queue) =>
      inTick(() => {
        const lane = lanes.find(queue);
        return lane ? measureOf(lane) : { name: queue, depth: 0, inFlight: 0, consumers: 0, oldestAgeMs: null };
      }),
    peek: (queue, limit) =>
      inTick(() =>
        database
          .all(
            'SELECT bytes FROM messages WHERE queue = ? ORDER BY seq LIMIT ?',
            lanes.find(queue)?.id ?? 0,
            Math.max(0, Math.trunc(limit)),
          )
          .map(({ bytes }) => bytes as string | Uint8Array),
      ),
    purge: (queue) =>
      inTick(() => {
        const lane = lanes.find(queue);
        return lane ? dropWaiting(lane) : 0;
      }),
    remove: (queue) =>
      inTick(() => {
        const lane = lanes.find(queue);
        if (!lane) return;
        if (lane.members.length > 0) {
          throw new AnnealError('Conflict', `${queue} has ${lane.members.length} consumers; stop them first.`);
        }
        dropWaiting(lane);
        database.write('DELETE FROM queues WHERE id = ?', lane.id ?? 0);
        lanes.remove(lane);
      }),
  };
}
