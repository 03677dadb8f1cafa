/** The password of the only user, kept as an scrypt hash. A new password in the settings replaces the old one. */
import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Document, Store } from '@anneal/store/port.ts';

interface UserDocument extends Document {
  readonly salt: string;
  readonly hash: string;
}

const cost = { N: 16_384, r: 8, p: 1 };
/**
 * Concurrent derivations. Each takes 16 MiB, so a higher limit would let unauthenticated clients fill the memory.
 */
const atOnce = 2;
const mostWaiting = 64;

export interface Password {
  /**
   * True when the password has matched before in this process. Undefined while no password has matched. The check costs
   * nothing, so a client with the right password never queues behind clients that guess.
   */
  remembers(password: string): boolean | undefined;
  matches(password: string): Promise<boolean>;
}

export async function openPassword({
  store,
  password,
}: {
  store: Store;
  password: string | undefined;
}): Promise<Password> {
  const users = await store.collection<UserDocument>({ name: 'gateway_users', indexes: [] });
  const derive = inTurn(deriveKey);
  // A key of this process alone, so that the remembered mark is useless outside this process.
  const key = randomBytes(32);
  const markOf = (given: string): Buffer => createHmac('sha256', key).update(given).digest();
  let proven: Buffer | undefined;

  const verify = async (user: UserDocument, given: string): Promise<boolean> =>
    timingSafeEqual(Buffer.from(user.hash, 'base64'), await derive(given, user.salt));

  let user = await users.get('admin');
  if (password !== undefined && !(user && (await verify(user, password)))) {
    const salt = randomBytes(16).toString('base64');
    const hash = (await derive(password, salt)).toString('base64');
    await users.bulk([{ kind: 'put', document: { id: 'admin', salt, hash } }]);
    user = await users.get('admin');
  }
  if (!user) {
    throw new AnnealError(
      'InvalidRequest',
      'The user admin has no password yet. Set ANNEAL_GATEWAY_ADMIN_PASSWORD (8 characters or more) for the first start.',
    );
  }
  const known = user;
  if (password !== undefined) proven = markOf(password);
  return {
    remembers: (given) => proven && timingSafeEqual(proven, markOf(given)),
    async matches(given) {
      const right = await verify(known, given);
      if (right) proven = markOf(given);
      return right;
    },
  };
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
