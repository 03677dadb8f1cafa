/** The web console starts here. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Notices } from './parts/notices.tsx';
import { applyTheme } from './parts/theme.ts';
import { router } from './router.tsx';
import { SessionGate } from './session/session.tsx';

applyTheme();

const queries = new QueryClient({
  // Events say when an answer has changed, so nothing is asked again without a reason.
  defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: 1, refetchOnWindowFocus: false } },
});
const root = document.getElementById('root');
if (!root) throw new Error('The page has no element "root".');

createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Notices>
        <SessionGate>
          <RouterProvider router={router} />
        </SessionGate>
      </Notices>
    </QueryClientProvider>
  </StrictMode>,
);
