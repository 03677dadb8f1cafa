/** The keys that sign the requests of a subscription: its secret, and the previous one for a while after a rotation. */
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { signingKey } from '../sinks/webhook.ts';
import type { SubscriptionDocument } from '../documents/subscription.ts';

export interface SigningKey {
  readonly key: Uint8Array;
  /** In milliseconds since the epoch. */
  readonly until: number;
}

export function openSigningKeys(
  { secret, previous_secret: previous }: Pick<SubscriptionDocument, 'secret' | 'previous_secret'>,
  secrets: Secrets,
): SigningKey[] {
  const keyOf = (sealed: SubscriptionDocument['secret']) => signingKey(secrets.open(sealed) as unknown as string);
  return [
    { key: keyOf(secret), until: Infinity },
    ...(previous ? [{ key: keyOf(previous.secret), until: previous.until }] : []),
  ];
}

/** The keys that are valid at a time. */
export const validKeys = (keys: readonly SigningKey[], now: number): Uint8Array[] =>
  keys.filter(({ until }) => until > now).map(({ key }) => key);

export const signingKeys = (
  subscription: Pick<SubscriptionDocument, 'secret' | 'previous_secret'>,
  { secrets, now }: { secrets: Secrets; now: number },
): Uint8Array[] => validKeys(openSigningKeys(subscription, secrets), now);
