/** The history of a stack, loaded when it is looked at, because it needs a library for YAML. */
import { lazy, Suspense } from 'react';
import { loadPage } from '../parts/load-page.ts';

const History = lazy(async () => ({ default: (await loadPage(() => import('./history.tsx'))).StackHistory }));

export function StackHistory({ stack }: { stack: string }) {
  return (
    <Suspense fallback={<p className="empty">Loading …</p>}>
      <History stack={stack} />
    </Suspense>
  );
}
