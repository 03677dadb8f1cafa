/** Settings of the notification service. */
import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';

const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback);

/** At once, then 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: about three days. */
const retrySeconds = '5,30,120,600,1800,7200,18000,36000,50400,72000,86400';

export const notificationSettings = defineSettings({
  keepEvents: {
    env: 'ANNEAL_NOTIFICATION_KEEP_EVENTS',
    schema: whole(100_000, 100, 100_000_000),
    meaning: 'How many events the log keeps; the oldest go first.',
    cost: 'About a kilobyte of the store each. Who was away for longer than this misses events.',
  },
  keepDeliveries: {
    env: 'ANNEAL_NOTIFICATION_KEEP_DELIVERIES',
    schema: whole(1000, 1, 1_000_000),
    meaning: 'How many delivered, and how many dead, deliveries are kept for each subscription.',
    cost: 'About two kilobytes of the store each.',
  },
  maxSubscriptions: {
    env: 'ANNEAL_NOTIFICATION_MAX_SUBSCRIPTIONS',
    schema: whole(1000, 1, 1_000_000),
    meaning: 'The most subscriptions of a project.',
  },
  allowPrivate: {
    env: 'ANNEAL_NOTIFICATION_ALLOW_PRIVATE',
    schema: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    meaning: 'Whether webhooks may go to private and loopback addresses.',
    cost: 'When others may subscribe, they can reach what only this machine should reach.',
  },
  timeoutMs: {
    env: 'ANNEAL_NOTIFICATION_TIMEOUT_MS',
    schema: whole(15_000, 100, 120_000),
    meaning: 'How long a webhook may take to answer.',
    cost: 'A slow listener holds up its own events for this long, nobody else’s.',
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
          message: 'must be at most 100 numbers of seconds with commas between them',
        });
        return z.NEVER;
      }),
    meaning: 'How long to wait after each failed delivery; after as many as there are, it is dead.',
    cost: 'More or longer waits hold the events of a subject back for longer.',
  },
});
