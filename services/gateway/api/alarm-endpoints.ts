/** Alarms: read them, their history, and set their state. */
import {
  alarmHistory,
  alarmList,
  alarmSeries,
  alarmSet,
  alarmShow,
  alarmStates,
} from '@anneal/contracts/calls/alarms.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { occasionOf } from '../identity/occasion.ts';
import { projectOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';

export function alarmEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/alarms',
      summary: 'List alarms.',
      query: z.strictObject({
        stack: z.string().optional().meta({ description: 'Id or name of the stack that has the alarm.' }),
        state: z.enum(alarmStates).optional(),
      }),
      answer: alarmList.answer,
      handle: ({ request, query: { stack, state } }) => {
        const project = projectOf(request);
        const data = { project, ...(stack !== undefined && { stack }), ...(state && { state }) };
        return ask('notification', alarmList, { project, data });
      },
    }),
    route({
      method: 'GET',
      path: '/alarms/{alarm}',
      summary: 'Read an alarm, by its id or unique name.',
      answer: alarmShow.answer,
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('notification', alarmShow, { project, data: { project, alarm: params['alarm'] ?? '' } });
      },
    }),
    route({
      method: 'POST',
      path: '/alarms/{alarm}/state',
      summary: 'Set the state of an alarm, for a test or to reset an event alarm. The actions for that state run.',
      body: z.strictObject({ state: z.enum(alarmStates) }),
      answer: alarmSet.answer,
      handle: ({ request, params, body: { state } }) => {
        const project = projectOf(request);
        const data = { project, alarm: params['alarm'] ?? '', state, occasion: occasionOf(request) };
        return ask('notification', alarmSet, { project, data });
      },
    }),
    route({
      method: 'GET',
      path: '/alarms/{alarm}/series',
      summary: 'Read the latest values that an alarm compares with its threshold, one for each complete period.',
      query: z.strictObject({ periods: z.int().min(1).max(1000).default(60) }),
      answer: alarmSeries.answer,
      handle: ({ request, params, query: { periods } }) => {
        const project = projectOf(request);
        return ask('notification', alarmSeries, { project, data: { project, alarm: params['alarm'] ?? '', periods } });
      },
    }),
    route({
      method: 'GET',
      path: '/alarms/{alarm}/history',
      summary: 'List the latest changes and actions of an alarm, newest first.',
      query: z.strictObject({ limit: z.int().min(1).max(1000).default(100) }),
      answer: alarmHistory.answer,
      handle: ({ request, params, query: { limit } }) => {
        const project = projectOf(request);
        return ask('notification', alarmHistory, { project, data: { project, alarm: params['alarm'] ?? '', limit } });
      },
    }),
  ];
}
