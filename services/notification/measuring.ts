/** Measurements: connects their store, the timer that removes old ones, and the questions about them. */
import type { Route } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { createTimers } from '@anneal/store/timers.ts';
import { metricRoutes } from './metrics/calls.ts';
import { Measurements } from './metrics/measurements.ts';
import { createServiceQuestions, Places } from './metrics/places.ts';
import { notificationSettings } from './settings.ts';

/** How often old measurements are removed. */
const trimMs = 300_000;

export interface Measuring {
  readonly routes: Route[];
  close(): Promise<void>;
}

export async function openMeasuring(
  context: ServiceContext,
  settings: SettingsOf<typeof notificationSettings>,
): Promise<Measuring> {
  const { store, log } = context;
  const now = (): number => context.now().getTime();
  const period = settings.measurementPeriod * 1000;
  const keepMs = settings.keepMeasurements * 1000;
  const measurements = await Measurements.open({
    store,
    now,
    period,
    keepMs,
    mostSeries: { most: settings.maxSeries, setting: notificationSettings.maxSeries.env },
  });
  const places = new Places({ ask: createServiceQuestions(context), now });
  const timers = await createTimers({
    store,
    collection: 'notification_measuring_timers',
    now,
    fire: async () => {
      await measurements.trim();
      await timers.set([{ id: 'trim', dueAt: now() + trimMs, data: null }]);
    },
    onError: (error, { id }) => log.error({ err: error, timer: id }, 'work of a timer failed; retrying'),
  });
  await timers.set([{ id: 'trim', dueAt: now(), data: null }]);
  const credential = async (_project: string, id: string): Promise<never> => {
    throw new AnnealError('NotFound', `The credential ${id} does not exist.`);
  };
  return {
    routes: metricRoutes({ context, measurements, places, keepMs, period, credential }),
    async close() {
      await timers.stop();
      await measurements.settled();
    },
  };
}
