/** The login page: name and password of Keystone, or the OpenID provider of the server. */
import { oidcProvider } from '@anneal/client/device-login.ts';
import { startSession } from '@anneal/client/session.ts';
import type { SessionView } from '@anneal/contracts/calls/session.ts';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState, type FormEvent } from 'react';
import { reasonOf } from '../parts/error-card.tsx';
import icon from '../icon.svg';

/** The reasons of the gateway for a login that ended without a session. */
const reasons: Readonly<Record<string, string>> = {
  expired: 'This login began in another browser, or more than 10 minutes ago. Log in again.',
  refused:
    'The login was refused: you may not use this server, or have no role in the project. Its log has the reason.',
  unavailable: 'The OpenID provider does not answer. Try again later.',
};

/** The browser runs on the machine of the server, whose files its user can read. */
const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);

const PlaceOfPassword = () => (
  <p className="dim">
    The password of a local server is in <code>credentials.json</code> in its data folder: <code>.anneal</code>, or that
    of <code>--data</code> or <code>ANNEAL_DATA</code>.
  </p>
);

const passwordField = { name: 'password', type: 'password', autoComplete: 'current-password' };

/** The way to the OpenID provider of the server, if it has one. */
function WithProvider({ url, project }: { url: string; project: string }) {
  const { data: provider = null } = useQuery({
    queryKey: ['oidc provider'],
    queryFn: async () => (await oidcProvider({ url })) ?? null,
  });
  if (provider === null) return null;
  const wanted = project === '' ? '' : `?${new URLSearchParams({ project }).toString()}`;
  return (
    <a className="button" href={`/identity/oidc/login${wanted}`}>
      Log in with {provider}
    </a>
  );
}

export function LoginPage(props: {
  url: string;
  onSession: (session: SessionView) => Promise<void>;
  /** The session that has ended. Its page waits for a new one. */
  ended?: SessionView;
}) {
  const { url, onSession, ended } = props;
  const [failure, setFailure] = useState(reasons[new URLSearchParams(location.search).get('login') ?? ''] ?? '');
  const [isBusy, setBusy] = useState(false);

  const [project, setProject] = useState(ended?.project.name ?? '');
  const password = useRef<HTMLInputElement>(null);
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
      password.current?.select();
    }
  };
  return (
    <main className="login">
      <form className="card" onSubmit={(event) => void submit(event)}>
        <h1 className="row">
          <img src={icon} alt="" width="26" height="26" /> Anneal
        </h1>
        {ended && <p>Your session has ended. Log in to go on where you were.</p>}
        <label>
          User
          <input
            className="field"
            name="username"
            defaultValue={ended?.user.name ?? 'admin'}
            autoComplete="username"
            required
          />
        </label>
        <label>
          Password
          <input ref={password} className="field" {...passwordField} required autoFocus />
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
        <WithProvider url={url} project={project} />
        {isLocal && <PlaceOfPassword />}
      </form>
    </main>
  );
}
