/** EC2's session tokens (IMDSv2): only a program that can send a PUT with a header gets one. Signed, not stored. */
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';

export const longestSessionSeconds = 21_600;

const signed = (hostId: string, expires: number): string => `metadata session ${hostId} ${expires}`;

/** @param session.expires seconds since the epoch. */
export const sessionToken = (
  secrets: Pick<Secrets, 'sign'>,
  { hostId, expires }: { hostId: string; expires: number },
): string => `${expires}.${secrets.sign(signed(hostId, expires))}`;

/** Whether this host got the token, and it has not expired. */
export function isSessionToken(
  secrets: Pick<Secrets, 'isSigned'>,
  { token, hostId, now }: { token: string; hostId: string; now: number },
): boolean {
  const [expires = '', mac = '', ...rest] = token.split('.');
  if (!/^\d{1,12}$/.test(expires) || rest.length > 0 || Number(expires) * 1000 <= now) return false;
  return secrets.isSigned(signed(hostId, Number(expires)), mac);
}
