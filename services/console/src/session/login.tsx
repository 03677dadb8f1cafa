/** The login page: name and password of Keystone. */
import { startSession } from '@anneal/client/session.ts';
import type { SessionView } from '@anneal/contracts/calls/session.ts';
import { useState, type FormEvent } from 'react';
import { reasonOf } from '../parts/error-card.tsx';
import icon from '../icon.svg';

export function LoginPage({ url, onSession }: { url: string; onSession: (session: SessionView) => Promise<void> }) {
  const [failure, setFailure] = useState('');
  const [isBusy, setBusy] = useState(false);

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
      const named = { username: text('username'), password: text('password'), project: text('project') };
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
          <input className="field" name="project" defaultValue="admin" required />
        </label>
        {failure !== '' && (
          <p role="alert" className="tone-failed">
            {failure}
          </p>
        )}
        <button className="button first" type="submit" disabled={isBusy}>
          {isBusy ? 'Logging in …' : 'Log in'}
        </button>
        <p className="dim">
          The password of a local server is in <code>.anneal/credentials.json</code>.
        </p>
      </form>
    </main>
  );
}
