/** The session of this browser, and the client that uses it. Without a session the login page is shown. */
import { connect, type Client } from '@anneal/client/connect.ts';
import { endSession, findSession } from '@anneal/client/session.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { SessionView } from '@anneal/contracts/calls/session.ts';
import { useQueryClient } from '@tanstack/react-query';
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

type State =
  | { readonly kind: 'asking' }
  | { readonly kind: 'out' }
  | { readonly kind: 'in'; readonly client: Client; readonly session: SessionView }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Shows its children to a browser with a session. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [state, setState] = useState<State>({ kind: 'asking' });
  const queries = useQueryClient();

  const enter = useCallback(async (session: SessionView) => {
    const client = await connect({ authUrl: `${url}/identity/v3`, session });
    setState({ kind: 'in', client, session });
  }, []);
  const begin = useCallback(async () => {
    try {
      await enter(await findSession({ url }));
    } catch (error) {
      const isOut = error instanceof AnnealError && error.code === 'Unauthorized';
      setState(isOut ? { kind: 'out' } : { kind: 'failed', error });
    }
  }, [enter]);
  useEffect(() => void begin(), [begin]);

  const signed = useMemo(
    () =>
      state.kind === 'in'
        ? {
            client: state.client,
            session: state.session,
            logOut: async () => {
              await endSession({ url, proof: state.session.proof });
              queries.clear();
              setState({ kind: 'out' });
            },
            expired: () => setState({ kind: 'out' }),
          }
        : undefined,
    [state, queries],
  );
  if (state.kind === 'out') return <LoginPage url={url} onSession={enter} />;
  if (state.kind === 'failed') {
    return (
      <main className="login">
        <ErrorCard error={state.error} again={() => void begin()} />
      </main>
    );
  }
  return signed ? <SignedContext value={signed}>{children}</SignedContext> : null;
}
