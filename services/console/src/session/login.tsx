/** The login page: name and password of Keystone, or the OpenID provider of the server. */
import { oidcProvider } from '@anneal/client/device-login.ts';
import { startSession } from '@anneal/client/session.ts';
import type { SessionView } from '@anneal/contracts/calls/session.ts';
import { useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { reasonOf } from '../parts/error-card.tsx';
import icon from '../icon.svg';

/** The reasons of the gateway for a login that ended without a session. */
const reasons: Readonly<Record<string, string>> = {
  expired: 'This login began in another browser, or more than 10 minutes ago. Log in again.',
  refused:
    'The login was refused: you may not use this server, or have no role in the project. Its log has the reason.',
  unavailable: 'The OpenID provider does not answer. Try again later.',
};

export function LoginPage({ url, onSession }: { url: string; onSession: (session: SessionView) => Promise<void> }) {
  const [failure, setFailure] = useState(reasons[new URLSearchParams(location.search).get('login') ?? ''] ?? '');
  const [isBusy, setBusy] = useState(false);

  const [project, setProject] = useState('');
  const { data: provider = null } = useQuery({
    queryKey: ['oidc provider'],
    queryFn: async () => (await oidcProvider({ url })) ?? null,
  });
  const wanted = project === '' ? '' : `?${new URLSearchParams({ project }).toString()}`;

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = (name: string): string => {
      const value = fields.get(name);
      return typeof value === 'string' ? value : '';
    };
    setBusy(true);
    setFailure('');
    try {
      const named = { username: text('username'), password: text('password'), project: project || 'admin' };
      await onSession(await startSession({ url, ...named }));
    } catch (error) {
      setFailure(reasonOf(error));
      setBusy(false);
    }
  };
  return (
    <main className="login">
      <form className="card" onSubmit={(event) => void submit(event)}>
        <h1 className="row">
          <img src={icon} alt="" width="26" height="26" /> Anneal
        </h1>
        <label>
          User
          <input className="field" name="username" defaultValue="admin" autoComplete="username" required />
        </label>
        <label>
          Password
          <input className="field" name="password" type="password" autoComplete="current-password" required autoFocus />
        </label>
        <label>
          Project
          <input
            className="field"
            name="project"
            placeholder="admin"
            value={project}
            onChange={(event) => setProject(event.currentTarget.value)}
          />
        </label>
        {failure !== '' && (
          <p role="alert" className="tone-failed">
            {failure}
          </p>
        )}
        <button className="button first" type="submit" disabled={isBusy}>
          {isBusy ? 'Logging in …' : 'Log in'}
        </button>
        {provider !== null && (
          <a className="button" href={`/identity/oidc/login${wanted}`}>
            Log in with {provider}
          </a>
        )}
        <p className="dim">
          The password of a local server is in <code>.anneal/credentials.json</code>.
        </p>
      </form>
    </main>
  );
}
