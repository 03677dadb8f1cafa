/** A part of a page that needs an answer: shows that it is asked, why it failed, or the answer. */
import type { UseQueryResult } from '@tanstack/react-query';
import { createContext, useContext, type ReactNode } from 'react';
import { hasCode } from '@anneal/contracts/errors.ts';
import { useLocation, useParams } from '@tanstack/react-router';
import { ErrorCard } from './error-card.tsx';
import { Go } from './go.tsx';

/** Whether a part around this one says already that the object is deleted. */
const GoneContext = createContext(false);

export function Answer<T>({ of, children }: { of: UseQueryResult<T>; children: (answer: T) => ReactNode }) {
  const isGone = useContext(GoneContext);
  const isMissing = hasCode(of.error, 'NotFound');
  if (of.data !== undefined) {
    // A failed repetition keeps the last answer on the page.
    if (!isMissing || isGone) return <>{children(of.data)}</>;
    return (
      <GoneContext value>
        <div className="stackwise">
          <Gone />
          {children(of.data)}
        </div>
      </GoneContext>
    );
  }
  if (of.error) {
    if (isMissing && isGone) return null;
    return (
      <ErrorCard error={of.error} again={() => void of.refetch()} {...(isMissing && { remedy: null })}>
        {isMissing && <Elsewhere />}
      </ErrorCard>
    );
  }
  return (
    <p className="empty" role="status">
      Loading …
    </p>
  );
}

/** The object was deleted while a reader looks at it. */
function Gone() {
  return (
    <section className="why tone-wait" role="alert">
      <p>
        <b>It does not exist any more.</b> This is the last that was known of it.
      </p>
      <div className="exits">
        <Elsewhere />
      </div>
    </section>
  );
}

/** The lists of the objects that events name. */
const withEvents = ['stacks', 'hosts', 'nodes'];

/** The list that would have the object, and the events about it. */
function Elsewhere() {
  const [, list = ''] = useLocation().pathname.split('/');
  const [name] = Object.values<string>(useParams({ strict: false }));
  return (
    <>
      <Go href={`/${list}`}>Show all {list.replaceAll('-', ' ')}</Go>
      {name !== undefined && withEvents.includes(list) && (
        <Go href={`/events?find=${encodeURIComponent(name)}`}>Show its events</Go>
      )}
    </>
  );
}
