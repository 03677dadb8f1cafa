/** An error: what was attempted, on what, why it failed and what to do, in the words of the server. */
import { AnnealError, errorTable } from '@anneal/contracts/errors.ts';
import type { ReactNode } from 'react';

/** The message of an error in one line. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const remedyOf = (error: unknown): string | undefined => {
  if (!(error instanceof AnnealError)) return undefined;
  // The remedy of a client that was given an address. A browser has the one that the page came from.
  if (error.code === 'Unavailable' && error.details?.['url'] !== undefined) return 'Check that the server is running.';
  const own = error.details?.['remedy'];
  return typeof own === 'string' ? own : errorTable[error.code].remedy;
};

export function ErrorCard(props: {
  error: unknown;
  again?: () => void;
  /** What to do. Null when the children are the remedy; otherwise that of the error. */
  remedy?: null;
  children?: ReactNode;
}) {
  const { error, again, children } = props;
  const remedy = props.remedy === null ? undefined : remedyOf(error);
  return (
    <section className="card" role="alert">
      <div className="body stackwise">
        <p className="tone-failed">{reasonOf(error)}</p>
        {remedy !== undefined && <p className="dim">{remedy}</p>}
        {again && (
          <p className="row">
            {children}
            <button className="button" type="button" onClick={again}>
              Try again
            </button>
          </p>
        )}
      </div>
    </section>
  );
}
