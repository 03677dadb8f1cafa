/** An error: what was attempted, on what, why it failed and what to do, in the words of the server. */
import { AnnealError, errorTable } from '@anneal/contracts/errors.ts';
import type { ReactNode } from 'react';

/** The message of an error in one line. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const remedyOf = (error: unknown): string | undefined => {
  if (!(error instanceof AnnealError)) return undefined;
  const own = error.details?.['remedy'];
  return typeof own === 'string' ? own : errorTable[error.code].remedy;
};

export function ErrorCard({ error, again, children }: { error: unknown; again?: () => void; children?: ReactNode }) {
  const remedy = remedyOf(error);
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
