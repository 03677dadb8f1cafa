/** The quotas of projects in this service. */
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { ProjectQuotas } from '@anneal/runtime/service/project-quotas.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { notificationSettings } from './settings.ts';

export type NotificationQuotas = ProjectQuotas<'subscriptions' | 'alarms' | 'credentials' | 'series'>;

export const openNotificationQuotas = (
  { store }: Pick<ServiceContext, 'store'>,
  settings: SettingsOf<typeof notificationSettings>,
): Promise<NotificationQuotas> =>
  ProjectQuotas.open(store, 'notification', {
    subscriptions: { most: settings.maxSubscriptions, setting: notificationSettings.maxSubscriptions.env },
    alarms: { most: settings.maxAlarms, setting: notificationSettings.maxAlarms.env },
    credentials: { most: settings.maxCredentials, setting: notificationSettings.maxCredentials.env },
    series: { most: settings.maxSeries, setting: notificationSettings.maxSeries.env },
  });
