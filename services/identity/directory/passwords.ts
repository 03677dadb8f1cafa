/** Passwords and secrets, kept as scrypt hashes. */
import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { StoredPassword } from '@anneal/directory/documents.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';

const cost = { N: 16_384, r: 8, p: 1 };
/** Concurrent derivations. Each takes 16 MiB, so a higher limit would let unauthenticated clients fill the memory. */
const atOnce = 2;
const mostWaiting = 64;
const mostRemembered = 10_000;

/** Compared with when there is no such user, so that the response time does not tell which names exist. */
const noPassword: StoredPassword = { salt: 'absent', hash: Buffer.alloc(32).toString('base64') };

/** Hashes and checks passwords, a few at a time. */
export class Passwords {
  readonly #derive = inTurn(deriveKey);
  // A key of this process alone, so that the remembered marks are useless outside this process.
  readonly #key = randomBytes(32);
  readonly #proven = new Recent<Buffer>(mostRemembered);

  /** @throws AnnealError LimitReached when too many passwords wait to be hashed */
  async hash(password: string): Promise<StoredPassword> {
    const salt = randomBytes(16).toString('base64');
    const stored = { salt, hash: (await this.#derive(password, salt)).toString('base64') };
    this.#proven.set(stored.hash, this.#mark(password));
    return stored;
  }

  /**
   * True when the password has matched before in this process, false when another has, undefined when none has. The
   * check costs nothing, so a client with the right password never queues behind clients that guess.
   */
  remembers(stored: StoredPassword, password: string): boolean | undefined {
    const proven = this.#proven.get(stored.hash);
    return proven && timingSafeEqual(proven, this.#mark(password));
  }

  /** Takes the same time without a stored password. @throws AnnealError LimitReached */
  async matches(stored: StoredPassword | null | undefined, password: string): Promise<boolean> {
    const { salt, hash } = stored ?? noPassword;
    const right = timingSafeEqual(Buffer.from(hash, 'base64'), await this.#derive(password, salt));
    if (right && stored) this.#proven.set(hash, this.#mark(password));
    return right && stored !== null && stored !== undefined;
  }

  #mark(password: string): Buffer {
    return createHmac('sha256', this.#key).update(password).digest();
  }
}

function deriveKey(password: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, Buffer.from(salt, 'base64'), 32, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

function inTurn(work: typeof deriveKey): typeof deriveKey {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (password, salt) => {
    if (running >= atOnce) {
      if (waiting.length >= mostWaiting) {
        throw new AnnealError('LimitReached', 'Too many logins at the same time; try again in a few seconds.');
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    running += 1;
    try {
      return await work(password, salt);
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}
