/** A part of a page that needs an answer: shows that it is asked, why it failed, or the answer. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { useLocation } from '@tanstack/react-router';
import { ErrorCard } from './error-card.tsx';
import { Go } from './go.tsx';

export function Answer<T>({ of, children }: { of: UseQueryResult<T>; children: (answer: T) => ReactNode }) {
  // A failed repetition keeps the last answer on the page.
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error) {
    return (
      <ErrorCard error={of.error} again={() => void of.refetch()}>
        {isNotFound(of.error) && <Elsewhere />}
      </ErrorCard>
    );
  }
  return (
    <p className="empty" role="status">
      Loading …
    </p>
  );
}

const isNotFound = (error: unknown): boolean => error instanceof AnnealError && error.code === 'NotFound';

/** The list that would have the object. */
function Elsewhere() {
  const [, list = ''] = useLocation().pathname.split('/');
  return <Go href={`/${list}`}>Show all {list.replaceAll('-', ' ')}</Go>;
}
