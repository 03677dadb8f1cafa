/** Answers the questions about alarms. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { alarmHistory, alarmList, alarmSeries, alarmSet, alarmShow } from '@anneal/contracts/calls/alarms.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { viewOfAlarm } from './alarm.ts';
import type { Alarms } from './alarms.ts';
import { compareNumbers } from './rules/filter.ts';

export function alarmRoutes(context: ServiceContext, alarms: Alarms): MessageRoute[] {
  return [
    answer(context, alarmList, async ({ data: { project, stack, state } }) => {
      const found = await alarms.documents.find({ where: { project }, orderBy: ['created_at'] });
      const wanted = found.filter(
        (alarm) =>
          (stack === undefined || [alarm.stack_id, alarm.stack_name].includes(stack)) &&
          (state === undefined || alarm.state === state),
      );
      return { alarms: wanted.map(viewOfAlarm) };
    }),
    answer(context, alarmShow, async ({ data }) => viewOfAlarm(await alarms.find(data.project, data.alarm))),
    answer(context, alarmSet, async ({ data }) =>
      viewOfAlarm(await alarms.set(await alarms.find(data.project, data.alarm), data.state, data.occasion)),
    ),
    answer(context, alarmSeries, async ({ data: { project, alarm, periods } }) => {
      const found = await alarms.seriesOf(await alarms.find(project, alarm), periods);
      return {
        series: found.map(({ rule: { comparison, threshold, granularity }, text, points }) => ({
          rule: text,
          comparison,
          threshold,
          granularity,
          points: points.map(({ at, value }) => ({
            at: new Date(at).toISOString(),
            value,
            outside: value !== null && compareNumbers[comparison](value, threshold),
          })),
        })),
      };
    }),
    answer(context, alarmHistory, async ({ data: { project, alarm, limit } }) => {
      const { id } = await alarms.find(project, alarm);
      return { history: await alarms.history.latest(id, limit) };
    }),
  ];
}
