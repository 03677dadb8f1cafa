/** What is shown stays true: events say which answers are out of date, and these are asked again. */
import type { AnnealEvent } from '@anneal/client/events.ts';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useState, type ReactNode } from 'react';
import { useSession } from '../session/session.tsx';
import { shareEvents } from './share.ts';

/** Answers by the first word of their query key, and the events after which they are out of date. */
const touched: Readonly<Record<string, readonly string[]>> = {
  stack: ['stacks', 'stack', 'groups', 'overview'],
  resource: ['stack', 'overview'],
  deployment: ['deployments', 'stack', 'hosts', 'overview'],
  host: ['hosts', 'overview'],
  node: ['nodes', 'overview'],
  group: ['stack', 'stacks', 'groups'],
};
/** A burst of events asks once per this time. */
const batchMs = 700;
const mostKept = 500;

/**
 * The events of the past. Pieces of output are left out, because a config that prints for an hour would be all
 * that a reader sees. They are shown as they arrive.
 */
export const beforehand = [{ not: { exact: { type: 'deployment.output' } } }];

interface LiveState {
  readonly isOpen: boolean;
  /** When the stream broke; undefined before it opened for the first time. */
  readonly brokenAt?: string;
  /** The latest events, the newest first. */
  readonly events: readonly AnnealEvent[];
}

const LiveContext = createContext<LiveState>({ isOpen: false, events: [] });
export const useLive = (): LiveState => useContext(LiveContext);

export function LiveProvider({ children }: { children: ReactNode }) {
  const { client } = useSession();
  const queries = useQueryClient();
  const [state, setState] = useState<LiveState>({ isOpen: false, events: [] });

  useEffect(() => {
    const ending = new AbortController();
    let fresh: AnnealEvent[] = [];
    let stale = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      timer = undefined;
      const [news, keys] = [fresh.toReversed(), stale];
      fresh = [];
      stale = new Set();
      if (news.length > 0) setState((last) => ({ ...last, events: [...news, ...last.events].slice(0, mostKept) }));
      for (const key of keys) void queries.invalidateQueries({ queryKey: [key] });
    };
    const later = (): void => {
      timer ??= setTimeout(flush, batchMs);
    };
    shareEvents(
      client,
      {
        onEvent: (event) => {
          fresh.push(event);
          for (const key of touched[event.type.split('.', 1)[0] ?? ''] ?? []) stale.add(key);
          later();
        },
        onState: ({ isOpen, gap }) => {
          setState((last) => ({
            ...last,
            isOpen,
            ...(last.isOpen && !isOpen && { brokenAt: new Date().toISOString() }),
          }));
          if (gap) void queries.invalidateQueries();
        },
      },
      ending.signal,
    );
    void client.events
      .list({ limit: 100, filters: beforehand })
      .then((list) =>
        setState((last) => {
          const known = new Set(last.events.map(({ id }) => id));
          return { ...last, events: [...last.events, ...list.toReversed().filter(({ id }) => !known.has(id))] };
        }),
      )
      .catch(() => undefined);
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [client, queries]);
  return <LiveContext value={state}>{children}</LiveContext>;
}
