/** Alarms: read them, their history, and set their state. */
import {
  alarmHistory,
  type alarmHistorySchema,
  alarmList,
  alarmSeries,
  type alarmSeriesSchema,
  alarmViewSchema,
  type AlarmView,
} from '@anneal/contracts/calls/alarms.ts';
import type { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';

/** A change or an action of an alarm. */
export type AlarmHistoryEntry = z.infer<typeof alarmHistorySchema>;

/** The values that a rule of an alarm compares, by period. */
export type AlarmSeries = z.infer<typeof alarmSeriesSchema>;

/** The alarms of the project. */
export interface AlarmCalls {
  list(parameters?: {
    stack?: string | undefined;
    state?: AlarmView['state'] | undefined;
    signal?: AbortSignal;
  }): Promise<AlarmView[]>;
  /** By id, or by a name that only one alarm has. */
  show(parameters: { alarm: string }): Promise<AlarmView>;
  /** Sets the state; the actions for that state run. */
  set(parameters: { alarm: string; state: AlarmView['state'] }): Promise<AlarmView>;
  /** The latest values of each rule that compares measurements, oldest first; 60 periods without a number. */
  series(parameters: { alarm: string; periods?: number | undefined }): Promise<AlarmSeries[]>;
  /** The newest first. */
  history(parameters: { alarm: string; limit?: number | undefined }): Promise<AlarmHistoryEntry[]>;
}

const service = 'api';

/** The calls for alarms. Each throws the gateway's AnnealError. */
export function alarmsOf(connection: GatewayConnection): AlarmCalls {
  const pathOf = (alarm: string): string => `/alarms/${encodeURIComponent(alarm)}`;
  return {
    async list({ stack, state, signal } = {}) {
      const what = 'list the alarms';
      const body = await connection.json({ service, path: '/alarms', query: { stack, state }, what, signal });
      return read(alarmList.answer, body, what).alarms;
    },
    async show({ alarm }) {
      const what = `show the alarm ${alarm}`;
      return read(alarmViewSchema, await connection.json({ service, path: pathOf(alarm), what }), what);
    },
    async set({ alarm, state }) {
      const what = `set the state of the alarm ${alarm}`;
      const path = `${pathOf(alarm)}/state`;
      return read(
        alarmViewSchema,
        await connection.json({ service, method: 'POST', path, body: { state }, what }),
        what,
      );
    },
    async series({ alarm, periods }) {
      const what = `read the values of the alarm ${alarm}`;
      const path = `${pathOf(alarm)}/series`;
      return read(alarmSeries.answer, await connection.json({ service, path, query: { periods }, what }), what).series;
    },
    async history({ alarm, limit }) {
      const what = `list the history of the alarm ${alarm}`;
      const path = `${pathOf(alarm)}/history`;
      return read(alarmHistory.answer, await connection.json({ service, path, query: { limit }, what }), what).history;
    },
  };
}
