/**
 * The users of tokens with their present roles. Most requests read one small document of the store, the revision of the
 * directory, because the users of recent requests are remembered.
 *
 * K1 A user is remembered with the revision that was read before the user, and counts only while a request reads the
 *    same one. So a change of the directory and a revoked token count for the requests after the answer to the change.
 * K2 A user is read again after a few seconds, for a change whose writer died before it raised the revision.
 * K3 The ends of tokens, application credentials and trusts come without a change, so each request compares them with the clock.
 */
import { Recent } from '@anneal/runtime/work/recent.ts';
import { accessOfToken, isExpired, type UserAccess } from '@anneal/directory/access.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { isLive, type TokenDocument, type TokenReader } from '@anneal/directory/tokens.ts';

/** A token of a user with the access that it gives. */
export interface TokenAccess {
  readonly token: TokenDocument;
  readonly access: UserAccess;
}

interface KnownUser extends TokenAccess {
  readonly revision: number;
  /** When the reads began, on the clock `elapsed`. */
  readonly readAt: number;
}

/** K2 */
const trustedMs = 5_000;
const mostKnown = 10_000;

export class KnownUsers {
  readonly #tokens: TokenReader;
  readonly #directory: DirectoryReader;
  readonly #now: () => Date;
  readonly #elapsed: () => number;
  readonly #known = new Recent<KnownUser>(mostKnown);

  /** @param sources.elapsed milliseconds of a clock that never steps back */
  constructor(sources: { tokens: TokenReader; directory: DirectoryReader; now: () => Date; elapsed: () => number }) {
    this.#tokens = sources.tokens;
    this.#directory = sources.directory;
    this.#now = sources.now;
    this.#elapsed = sources.elapsed;
  }

  /** The access of a token. Null when the token gives no access any more, undefined when it is not the token of a user. */
  async find(text: string): Promise<TokenAccess | null | undefined> {
    const readAt = this.#elapsed();
    const revision = await this.#directory.revision.read();
    const known = this.#known.get(text);
    if (known?.revision === revision && readAt - known.readAt < trustedMs && this.#isValid(known)) {
      return known;
    }
    const read = await this.#read(text);
    if (read) this.#known.set(text, { revision, readAt, ...read });
    else this.#known.delete(text);
    return read;
  }

  async #read(text: string): Promise<TokenAccess | null | undefined> {
    const token = await this.#tokens.find(text);
    if (!token) return undefined;
    const access = await accessOfToken(this.#directory, token, this.#now());
    return access ? { token, access } : null;
  }

  /** K3 */
  #isValid({ token, access: { applicationCredential, trust } }: TokenAccess): boolean {
    const now = this.#now();
    const source = applicationCredential ?? trust;
    return isLive(token, now) && !(source && isExpired(source, now));
  }
}
