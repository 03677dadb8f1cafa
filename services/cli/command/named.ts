/** Names in the place of ids. */
import type { Client } from '@anneal/client/connect.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';

/**
 * The id of an object that a user names by its id or its name. What is neither is returned unchanged, so that the server
 * refuses it.
 *
 * @param kind for the message, such as `snapshot`
 * @throws AnnealError InvalidRequest for the name of several
 */
export async function idOf(
  given: string,
  { kind, list }: { kind: string; list: () => Promise<readonly { readonly id: string; readonly name?: unknown }[]> },
): Promise<string> {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-/.test(given)) return given;
  const named = (await list()).filter(({ name }) => name !== '' && name === given);
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(', ');
    throw new AnnealError('InvalidRequest', `There are ${named.length} ${kind}s named ${given}: ${ids}.`, {
      details: { remedy: `Name the ${kind} by its id.` },
    });
  }
  return named[0]?.id ?? given;
}

/** Whether there is a stack with this name or id now. */
export async function stackExists({ stacks }: Pick<Client, 'stacks'>, stack: string): Promise<boolean> {
  return (await stacks.find({ stack }).catch(ignoreNotFound)) !== undefined;
}
