/** Questions to the server, each kept until an event says that its answer has changed. */
import type { Client } from '@anneal/client/connect.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useSession } from '../session/session.tsx';

/**
 * Asks and keeps the answer. An answer that is asked again stays visible meanwhile.
 * @param key its first word decides after which events it is asked again
 * @param everyMs also ask again after this time, for what no event reports
 */
export function useAsk<T>(
  key: readonly string[],
  ask: (client: Client) => Promise<T>,
  everyMs?: number,
): UseQueryResult<T> {
  const { client } = useSession();
  const result = useQuery({
    queryKey: key,
    queryFn: () => ask(client),
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
  useLogin([result.error]);
  return result;
}

/** Shows the login when an answer says that the session has ended. */
function useLogin(errors: readonly unknown[]): void {
  const { expired } = useSession();
  const isOut = errors.some((error) => hasCode(error, 'Unauthorized'));
  useEffect(() => {
    if (isOut) expired();
  }, [isOut, expired]);
}

/** Several questions of one form. A question that is new shows the answer to the one in its place until it has its own. */
export function useAskEach<T>(
  questions: readonly { readonly key: readonly string[]; readonly ask: (client: Client) => Promise<T> }[],
  everyMs?: number,
): UseQueryResult<T>[] {
  const { client } = useSession();
  // `useQueries` makes a new observer for each new key. It knows no earlier answer, so `keepPreviousData` would keep none.
  const before = useRef<readonly (T | undefined)[]>([]);
  const results = useQueries({
    queries: questions.map(({ key, ask }, place) => ({
      queryKey: key,
      queryFn: () => ask(client),
      placeholderData: () => before.current[place],
      ...(everyMs !== undefined && { refetchInterval: everyMs }),
    })),
  }) as UseQueryResult<T>[];
  useEffect(() => {
    before.current = results.map(({ data }) => data);
  });
  useLogin(results.map(({ error }) => error));
  return results;
}
