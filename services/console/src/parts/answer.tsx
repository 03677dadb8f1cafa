/** A part of a page that needs an answer: shows that it is asked, why it failed, or the answer. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorCard } from './error-card.tsx';

export function Answer<T>({ of, children }: { of: UseQueryResult<T>; children: (answer: T) => ReactNode }) {
  // A failed repetition keeps the last answer on the page.
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error) return <ErrorCard error={of.error} again={() => void of.refetch()} />;
  return (
    <p className="empty" role="status">
      Loading …
    </p>
  );
}
