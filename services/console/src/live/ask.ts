/** Questions to the server, each kept until an event says that its answer has changed. */
import type { Client } from '@anneal/client/connect.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
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
  const { client, expired } = useSession();
  const result = useQuery({
    queryKey: key,
    queryFn: () => ask(client),
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
  });
  const isOut = result.error instanceof AnnealError && result.error.code === 'Unauthorized';
  useEffect(() => {
    if (isOut) expired();
  }, [isOut, expired]);
  return result;
}
