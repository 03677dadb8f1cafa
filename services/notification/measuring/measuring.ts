/** Measurements and alarms: connects their stores, their timers, and the questions about them. */
import { measuringTypesFor } from '@anneal/hot/types/measuring.ts';
import type { MessageRoute } from '@anneal/bus/consume/route.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { deliveryMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { readTimer } from '@anneal/runtime/time/timer-codec.ts';
import { createTimers, type Timer, type Timers } from '@anneal/store/timers.ts';
import { z } from 'zod';
import type { AlarmDocument } from './alarms/alarm.ts';
import { Alarms, type AlarmsOptions } from './alarms/alarms.ts';
import { alarmRoutes } from './alarms/calls.ts';
import { isAlarmType } from './alarms/rules/definition.ts';
import { AlarmHistory, type HistoryDocument } from './alarms/history.ts';
import { createInstantQuery } from './alarms/prometheus.ts';
import { provideAlarm, type AlarmResourceContext } from './alarms/resource.ts';
import { CredentialStore } from '../credentials/credentials.ts';
import type { AttemptLog } from '../delivery/attempt-log.ts';
import { isCredentialType, provideCredential } from '../credentials/resource.ts';
import { metricRoutes } from './metrics/calls.ts';
import { Measurements } from './metrics/measurements.ts';
import { Places } from './metrics/places.ts';
import { openResources } from '../resources.ts';
import { createServiceQuestions } from '../service-questions.ts';
import type { NotificationQuotas } from '../quotas.ts';
import type { notificationSettings } from '../settings.ts';

/** How often old measurements are removed. */
const trimMs = 300_000;

type NotificationSettings = SettingsOf<typeof notificationSettings>;

export interface Measuring {
  readonly routes: MessageRoute[];
  /** Counts of what a project has, for its quotas. */
  readonly used: Readonly<Record<'alarms' | 'credentials' | 'series', (project: string) => Promise<number>>>;
  /** Runs the alarms that an event triggers, and ends the credentials of a deleted stack. */
  onEvent(event: Envelope, project: string): Promise<void>;
  /** Announces the types of resources. */
  announce(): Promise<void>;
  close(): Promise<void>;
}

const timerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['alarm', 'change', 'action', 'resource']), of: z.string() }),
  z.object({ kind: z.literal('trim') }),
]);

/** The timer of an id: its kind, and behind a colon the object that it is of. @throws AnnealError Defect */
function timerOf(id: string): z.infer<typeof timerSchema> {
  const [kind, of] = id.split(':');
  return readTimer(timerSchema, id, { kind, of });
}

export async function openMeasuring(
  context: ServiceContext,
  settings: NotificationSettings,
  { quotas, attempts }: { quotas: NotificationQuotas; attempts: AttemptLog },
): Promise<Measuring> {
  const { log } = context;
  const now = (): number => context.now().getTime();
  const measurements = await openMeasurements(context, settings, quotas);
  const ask = createServiceQuestions(context);
  const places = new Places({ ask, now });
  const admit = quotas.admissionsTo('credentials');
  const credentials = await CredentialStore.open({ context, ask, admit });
  let timers: Timers;
  const setTimers = (wanted: readonly Timer[]): Promise<void> => timers.set(wanted);
  const alarms = await openAlarms({ context, settings, attempts, measurements, setTimers });
  const alarmContext: AlarmResourceContext = {
    alarms,
    secrets: context.secrets,
    gatewayUrl: context.gatewayUrl,
    allowPrivate: settings.allowPrivate,
    period: settings.measurementPeriod,
    now: context.now,
    admit: quotas.admissionsTo('alarms'),
  };
  const resources = await openResources(context, () => timers, [
    { serves: isAlarmType, provide: (action, request) => provideAlarm(alarmContext, action, request) },
    {
      serves: isCredentialType,
      provide: (action, request) => provideCredential({ credentials, secrets: context.secrets }, action, request),
    },
  ]);
  const trim = async (): Promise<void> => {
    await measurements.trim();
    await setTimers([{ id: 'trim', dueAt: now() + trimMs, data: null }]);
  };
  timers = await createTimers({
    store: context.store,
    collection: 'notification_measuring_timers',
    permission: context.bus.permission,
    now,
    fire: firing({ alarms, resources, trim }),
    onError: (error, { id }) => log.error({ err: error, timer: id }, 'work of a timer failed; retrying'),
  });
  await setTimers([{ id: 'trim', dueAt: now(), data: null }]);
  await alarms.recover();
  return {
    routes: [
      ...metricRoutes({
        context,
        measurements,
        places,
        keepMs: settings.keepMeasurements * 1000,
        period: settings.measurementPeriod * 1000,
        credential: (project, id) => credentials.posterOf(project, id),
      }),
      ...credentials.routes(),
      ...alarmRoutes(context, alarms),
      ...resources.routes,
    ],
    used: usedOf({ alarms, credentials, measurements }),
    async onEvent(event, project) {
      await alarms.onEvent(event, project);
      await credentials.onEvent(event, project);
    },
    announce: () => resources.announce(measuringTypesFor(settings.measurementPeriod)),
    async close() {
      await resources.stop();
      await timers.stop();
      await measurements.settled();
    },
  };
}

const firing =
  (parts: { alarms: Alarms; resources: { wake(id: string): Promise<void> }; trim: () => Promise<void> }) =>
  async ({ id, dueAt }: Timer): Promise<void> => {
    const timer = timerOf(id);
    switch (timer.kind) {
      case 'alarm':
        return parts.alarms.evaluate(timer.of, dueAt);
      case 'change':
        return parts.alarms.announce(timer.of);
      case 'action':
        return parts.alarms.act(timer.of);
      case 'resource':
        return parts.resources.wake(timer.of);
      case 'trim':
        return parts.trim();
    }
  };

const usedOf = (parts: {
  alarms: Alarms;
  credentials: CredentialStore;
  measurements: Measurements;
}): Measuring['used'] => ({
  alarms: (project) => parts.alarms.documents.count({ project }),
  credentials: (project) => parts.credentials.countOf(project),
  series: (project) => parts.measurements.countOf(project),
});

const openMeasurements = (
  { store, now }: ServiceContext,
  settings: NotificationSettings,
  quotas: NotificationQuotas,
): Promise<Measurements> =>
  Measurements.open({
    store,
    now: () => now().getTime(),
    period: settings.measurementPeriod * 1000,
    keepMs: settings.keepMeasurements * 1000,
    keepHourlyMs: settings.keepHourly * 1000,
    limitOf: (project) => quotas.limitOf('series', project),
    admit: quotas.admissionsTo('series'),
  });

async function openAlarms(
  parts: Pick<AlarmsOptions, 'measurements' | 'setTimers'> & {
    context: ServiceContext;
    settings: NotificationSettings;
    attempts: AttemptLog;
  },
): Promise<Alarms> {
  const { context, settings, attempts, measurements, setTimers } = parts;
  const [alarms, changes] = await Promise.all([
    context.store.collection<AlarmDocument>({
      name: 'notification_alarms',
      indexes: [{ fields: ['project', 'created_at'] }, { fields: ['open'] }, { fields: ['kind'] }],
    }),
    context.store.collection<HistoryDocument>({
      name: 'notification_alarm_history',
      indexes: [{ fields: ['alarm', 'at'] }],
    }),
  ]);
  const { timeoutMs, allowPrivate, retrySeconds, prometheusUrl, alarmSeconds } = settings;
  return new Alarms({
    alarms,
    history: new AlarmHistory(changes, attempts),
    service: context,
    measurements,
    instantQuery: createInstantQuery(prometheusUrl),
    setTimers,
    observe: deliveryMetrics(context.metrics),
    now: () => context.now().getTime(),
    random: Math.random,
    stopping: context.stopping,
    timeoutMs,
    allowPrivate,
    retrySeconds,
    intervalMs: alarmSeconds * 1000,
  });
}
