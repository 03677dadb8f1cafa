/** New passwords and tokens that people and programs pass on command lines. */
import { randomBytes } from 'node:crypto';

/**
 * A text of so many random bytes. It never begins with `-`, because a command takes the value after `--password` for an
 * option then.
 */
export function newCredential(bytes: number, draw: (bytes: number) => Buffer = randomBytes): string {
  for (;;) {
    const text = draw(bytes).toString('base64url');
    if (!text.startsWith('-')) return text;
  }
}
