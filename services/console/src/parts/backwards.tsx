/** A log that is read backwards: it shows the newest rows and loads older ones when the reader comes to its end. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { joinRows } from './join-rows.ts';
import { reasonOf } from './error-card.tsx';

interface Backwards<T> {
  /** The newest first. */
  readonly rows: readonly T[];
  /** `end`: the server has no older rows. */
  readonly state: 'more' | 'loading' | 'end';
  readonly error: unknown;
  readonly more: () => void;
}

/**
 * @param older reads a page of rows before this one, the newest first; an empty page is the end
 * @param isWhole whether the newest rows are all
 */
export function useBackwards<T extends { readonly id: string }>(
  newest: readonly T[],
  older: (before: T) => Promise<readonly T[]>,
  isWhole = false,
): Backwards<T> {
  const [held, setHeld] = useState<readonly T[]>([]);
  const [state, setState] = useState<Backwards<T>['state']>(isWhole ? 'end' : 'more');
  const [error, setError] = useState<unknown>();
  const rows = useMemo(() => joinRows(newest, held), [newest, held]);
  useEffect(() => setHeld((last) => joinRows(newest, last)), [newest]);
  const load = async (last: T): Promise<void> => {
    setState('loading');
    setError(undefined);
    try {
      const page = await older(last);
      setHeld((before) => (before.at(-1)?.id === last.id ? [...before, ...page] : before));
      setState(page.length === 0 ? 'end' : 'more');
    } catch (failure) {
      setError(failure);
      setState('more');
    }
  };
  const last = rows.at(-1);
  return { rows, state, error, more: () => void (last && state === 'more' && load(last)) };
}

/** So many rows are loaded by themselves; behind them, a filter with few results waits for a press. */
const mostByItself = 5000;

/** The end of the list: loads older rows when it comes near the screen. */
export function Older<T>({ of, what }: { of: Backwards<T>; what: string }) {
  const { rows, state, error, more } = of;
  const end = useRef<HTMLParagraphElement>(null);
  const waits = state === 'more' && error === undefined && rows.length > 0 && rows.length < mostByItself;
  useEffect(() => {
    if (!end.current || !waits) return;
    const seen = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && more(), {
      rootMargin: '600px',
    });
    seen.observe(end.current);
    return () => seen.disconnect();
  });
  if (rows.length === 0) return null;
  return (
    <p className="row dim" ref={end}>
      {error !== undefined && <span className="tone-failed">{reasonOf(error)}</span>}
      {state === 'more' && (
        <button type="button" className="button" onClick={more}>
          {error === undefined ? `Older ${what}` : 'Try again'}
        </button>
      )}
      <span role="status">
        {state === 'loading' && `Loading older ${what} …`}
        {state === 'end' && `All ${rows.length.toLocaleString()} ${what} that the server keeps.`}
      </span>
    </p>
  );
}
