/** Settings of the notification service. */
import { defaultPeriod } from '@anneal/hot/types/alarm-limits.ts';
import { defineSettings, listIn } from '@anneal/runtime/service/settings.ts';
import { z } from 'zod';

const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback);

/** At once, then 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: about three days. */
const retrySeconds = '5,30,120,600,1800,7200,18000,36000,50400,72000,86400';

export const notificationSettings = defineSettings({
  keepEvents: {
    env: 'ANNEAL_NOTIFICATION_KEEP_EVENTS',
    schema: whole(1_000_000, 100, 100_000_000),
    meaning: 'Maximum number of events in the event log; the oldest ones are removed first.',
    cost: 'About 1 KB of the store per event. A listener that falls behind by more events loses the oldest ones; a `subscription.events.dropped` event reports them.',
  },
  keepSeconds: {
    env: 'ANNEAL_NOTIFICATION_KEEP_SECONDS',
    schema: whole(7 * 86_400, 60, 10 * 365 * 86_400),
    meaning:
      'Age from which the event log removes events. `ANNEAL_NOTIFICATION_KEEP_EVENTS` limits their number whatever their age.',
    cost: 'A listener that is away for longer loses the oldest events; a `subscription.events.dropped` event reports them.',
  },
  inFlight: {
    env: 'ANNEAL_NOTIFICATION_IN_FLIGHT',
    schema: whole(16, 1, 1000),
    meaning: 'Maximum number of requests to one webhook at the same time. Events of the same subject never overlap.',
    cost: 'One connection to the listener per request.',
  },
  keepDeliveries: {
    env: 'ANNEAL_NOTIFICATION_KEEP_DELIVERIES',
    schema: whole(1000, 1, 1_000_000),
    meaning:
      'Minimum number of the latest attempts, and maximum number of dead deliveries, that are kept per subscription.',
    cost: 'About 200 bytes of the store per attempt, and 2 KB per dead delivery.',
  },
  pendingDeliveries: {
    env: 'ANNEAL_NOTIFICATION_PENDING_DELIVERIES',
    schema: whole(500, 1, 100_000),
    meaning:
      'Maximum number of stored deliveries per subscription: refused events, and those behind them of the same subject. Further ones wait in the event log.',
    cost: 'About 2 KB of the store per delivery. A courier reads all of them into memory.',
  },
  maxSubscriptions: {
    env: 'ANNEAL_NOTIFICATION_MAX_SUBSCRIPTIONS',
    schema: whole(1000, 1, 1_000_000),
    meaning: 'Maximum number of subscriptions of a project.',
  },
  allowPrivate: {
    env: 'ANNEAL_NOTIFICATION_ALLOW_PRIVATE',
    schema: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    meaning: 'Allow webhooks to private and loopback addresses.',
    cost: 'Any user who may subscribe can then send requests to addresses that only this machine should reach.',
  },
  confirm: {
    env: 'ANNEAL_NOTIFICATION_CONFIRM',
    schema: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    meaning:
      'Send no event to a new webhook before it has agreed, as the validation of CloudEvents webhooks defines. A subscription may ask for it or not with `confirm`.',
    cost: 'A listener must answer OPTIONS, or request the callback. Without it, a subscriber can send events to a webhook of someone else.',
  },
  timeoutMs: {
    env: 'ANNEAL_NOTIFICATION_TIMEOUT_MS',
    schema: whole(15_000, 100, 120_000),
    meaning: 'Time that a listener may take to answer a webhook.',
    cost: 'A slow listener delays its own events by up to this time, but not those of other listeners.',
  },
  smtpUrl: {
    env: 'ANNEAL_NOTIFICATION_SMTP_URL',
    schema: z.url({ protocol: /^smtps?$/ }).optional(),
    secret: true,
    meaning:
      'SMTP server that takes mail for subscribers: `smtp://USER:PASSWORD@HOST:587`, or `smtps://…`. Default: none, and `mailto:` is refused.',
    cost: 'Subscribers can then send mail in the name of `ANNEAL_NOTIFICATION_MAIL_FROM`, after each recipient has confirmed.',
  },
  mailFrom: {
    env: 'ANNEAL_NOTIFICATION_MAIL_FROM',
    schema: z.email().default('anneal@localhost.localdomain'),
    meaning: 'Sender of mail.',
  },
  mailDomains: {
    env: 'ANNEAL_NOTIFICATION_MAIL_DOMAINS',
    schema: z
      .string()
      .default('')
      .transform((text) => new Set(listIn(text.toLowerCase()))),
    meaning:
      'Domains whose mail addresses need no confirmation, separated by commas, such as `ops.example`. The action `std.email` of workflows sends only to them.',
    cost: 'Any user who may subscribe, and any workflow, can then send mail to these addresses.',
  },
  measurementPeriod: {
    env: 'ANNEAL_NOTIFICATION_MEASUREMENT_PERIOD_SECONDS',
    schema: whole(defaultPeriod, 1, 60).refine(
      (seconds) => 300 % seconds === 0,
      'must divide 300: 1, 2, 5, 10, 15, 20, 30 or 60',
    ),
    meaning: 'Shortest period of measurements: the finest granularity of a query or an alarm.',
    cost: 'A shorter period takes more of the store. Measurements stored with another period are not read any more.',
  },
  keepMeasurements: {
    env: 'ANNEAL_NOTIFICATION_KEEP_MEASUREMENTS_SECONDS',
    schema: whole(86_400, 600, 10 * 365 * 86_400),
    meaning: 'Age from which only hourly values of measurements stay.',
    cost: 'About 20 bytes of the store per series and period in which it has a value.',
  },
  keepHourly: {
    env: 'ANNEAL_NOTIFICATION_KEEP_HOURLY_SECONDS',
    schema: whole(2_592_000, 0, 10 * 365 * 86_400),
    meaning: 'Age from which hourly values of measurements are removed; 0 keeps none.',
    cost: 'Tens to hundreds of bytes of the store per series and hour in which it has a value, by how much the values differ.',
  },
  maxSeries: {
    env: 'ANNEAL_NOTIFICATION_MAX_SERIES',
    schema: whole(10_000, 1, 1_000_000),
    meaning: 'Maximum number of series of measurements of a project. A series is a name with a set of labels.',
    cost: 'Each query and each evaluation of an alarm reads all series with its name.',
  },
  alarmSeconds: {
    env: 'ANNEAL_NOTIFICATION_ALARM_SECONDS',
    schema: whole(60, 1, 3600),
    meaning:
      'Longest time between two evaluations of an alarm. An alarm with a shorter granularity is evaluated as often as that.',
    cost: 'Each evaluation reads the measurements of its alarm and writes its timer twice.',
  },
  maxAlarms: {
    env: 'ANNEAL_NOTIFICATION_MAX_ALARMS',
    schema: whole(1000, 1, 100_000),
    meaning: 'Maximum number of alarms of a project.',
  },
  maxCredentials: {
    env: 'ANNEAL_NOTIFICATION_MAX_CREDENTIALS',
    schema: whole(1000, 1, 1_000_000),
    meaning: 'Maximum number of machine credentials of a project.',
  },
  prometheusUrl: {
    env: 'ANNEAL_NOTIFICATION_PROMETHEUS_URL',
    schema: z.url().optional(),
    meaning:
      'Address of the Prometheus server that evaluates the queries of `OS::Aodh::PrometheusAlarm`. Default: none.',
    cost: 'Any user who may create stacks can then read the series of that server by the state of alarms.',
  },
  retrySeconds: {
    env: 'ANNEAL_NOTIFICATION_RETRY_SECONDS',
    schema: z
      .string()
      .default(retrySeconds)
      .transform((text, context) => {
        const seconds = text.split(',').map(Number);
        if (seconds.length <= 100 && seconds.every((each) => Number.isFinite(each) && each >= 0)) return seconds;
        context.addIssue({
          code: 'custom',
          message: 'must be at most 100 numbers of seconds, separated by commas',
        });
        return z.NEVER;
      }),
    meaning: 'Waits after each failed delivery. A delivery that also fails after the last wait is dead.',
    cost: 'More or longer waits delay later events of the same subject for longer.',
  },
});
