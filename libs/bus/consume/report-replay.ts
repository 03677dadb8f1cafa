/** Reports the end of a replayed message to the process that replayed it (`send/replays.ts`). */
import { randomUUID } from 'node:crypto';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { replayEnded } from '@anneal/contracts/resource.ts';
import type { Broker } from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import type { Codec } from '../codec.ts';
import type { ReplayEnd } from '../send/replays.ts';

/** Reports the end of a message. It does not wait, and a report may be lost. `report`: where another process awaits it. */
export type ReportReplay = (report: { readonly inbox: string; readonly id: string }, end: ReplayEnd) => void;

/** Creates the reports of a process. */
export function createReplayReports({
  broker,
  codec,
  log,
}: {
  broker: Broker;
  codec: Codec;
  log: BusLog;
}): ReportReplay {
  return ({ inbox, id }, end) => {
    const send = async (): Promise<void> => {
      const message: Envelope = {
        specversion: '1.0',
        id: randomUUID(),
        type: replayEnded.type,
        source: 'anneal/bus',
        time: new Date().toISOString(),
        datacontenttype: 'application/json',
        correlationid: id,
        causationid: id,
        data: end,
      };
      await broker.answer({ inbox, packet: await codec.encode(message, { kind: 'once' }) });
    };
    send().catch((error: unknown) => {
      log.warn(
        { err: error },
        'end of a replayed message not reported; the process that replayed it waits until its limit',
      );
    });
  };
}
