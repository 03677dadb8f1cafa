/** The session of this browser, and the client that uses it. Without a session the login page is shown. */
import { connect, type Client } from '@anneal/client/connect.ts';
import { endSession, findSession } from '@anneal/client/session.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import type { SessionView } from '@anneal/contracts/calls/session.ts';
import { useQueryClient } from '@tanstack/react-query';
import { Dialog } from 'radix-ui';
import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from 'react';
import { ErrorCard } from '../parts/error-card.tsx';
import { LoginPage } from './login.tsx';

interface Signed {
  readonly client: Client;
  readonly session: SessionView;
  /** Shows the login page, after which the same address is shown again. */
  readonly logOut: () => Promise<void>;
  /** The server has refused the session: ask for a login. */
  readonly expired: () => void;
}

const SignedContext = createContext<Signed | undefined>(undefined);
const url = location.origin;

/** The session and its client. Only below `SessionGate`. */
export function useSession(): Signed {
  const signed = useContext(SignedContext);
  if (!signed) throw new Error('There is no session here.');
  return signed;
}

const isSame = (a: SessionView, b: SessionView): boolean => a.user.id === b.user.id && a.project.id === b.project.id;

type State =
  | { readonly kind: 'asking' }
  | { readonly kind: 'out' }
  | {
      readonly kind: 'in';
      readonly client: Client;
      readonly session: SessionView;
      /** The server refuses the session: the login is shown over the page, which keeps what was typed into it. */
      readonly isRefused: boolean;
    }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Shows its children to a browser with a session. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [state, setState] = useState<State>({ kind: 'asking' });
  const queries = useQueryClient();

  const enter = useCallback(
    async (session: SessionView) => {
      const client = await connect({ authUrl: `${url}/identity/v3`, session });
      setState((last) => {
        // The page of another user shows nothing of the first one.
        if (last.kind === 'in' && !isSame(last.session, session)) queries.clear();
        return { kind: 'in', client, session, isRefused: false };
      });
      await queries.invalidateQueries();
    },
    [queries],
  );
  const begin = useCallback(async () => {
    try {
      await enter(await findSession({ url }));
    } catch (error) {
      const isOut = hasCode(error, 'Unauthorized');
      setState(isOut ? { kind: 'out' } : { kind: 'failed', error });
    }
  }, [enter]);
  useEffect(() => void begin(), [begin]);

  const expired = useCallback(
    () => setState((last) => (last.kind === 'in' && !last.isRefused ? { ...last, isRefused: true } : last)),
    [],
  );
  const { client, session } = state.kind === 'in' ? state : {};
  const signed = useMemo(
    () =>
      client && session
        ? {
            client,
            session,
            logOut: async () => {
              await endSession({ url, proof: session.proof });
              queries.clear();
              setState({ kind: 'out' });
            },
            expired,
          }
        : undefined,
    [client, session, queries, expired],
  );
  if (state.kind === 'out') return <LoginPage url={url} onSession={enter} />;
  if (state.kind === 'failed') {
    return (
      <main className="login">
        <ErrorCard error={state.error} again={() => void begin()} />
      </main>
    );
  }
  if (state.kind !== 'in' || !signed) return null;
  const { user, project } = state.session;
  return (
    <SignedContext key={`${user.id} ${project.id}`} value={signed}>
      {children}
      <Dialog.Root open={state.isRefused}>
        <Dialog.Portal>
          <Dialog.Content className="login-over" aria-describedby={undefined}>
            <Dialog.Title className="hidden-label">Log in again</Dialog.Title>
            <LoginPage url={url} onSession={enter} ended={state.session} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
    </SignedContext>
  );
}
