/** The body that the webhook receiver of Alertmanager posts, version 4: the alerts of one group. */
import { z } from 'zod';

/** The most alerts of one notification. `max_alerts` in the configuration of Alertmanager makes it send fewer. */
export const mostAlerts = 1000;

const texts = z.record(z.string(), z.string());

const alertSchema = z.object({
  status: z.enum(['firing', 'resolved']),
  labels: texts,
  annotations: texts.default({}),
  startsAt: z.iso.datetime({ offset: true }),
  fingerprint: z.string().min(1).max(64),
});
export type Alert = z.infer<typeof alertSchema>;

/** Fields that Anneal does not read may be absent or have any value. */
export const alertNotificationSchema = z.object({
  version: z.literal('4'),
  status: z.enum(['firing', 'resolved']),
  groupKey: z.string().max(10_000),
  truncatedAlerts: z.number().int().nonnegative().default(0),
  alerts: z.array(alertSchema).max(mostAlerts),
});
export type AlertNotification = z.infer<typeof alertNotificationSchema>;
