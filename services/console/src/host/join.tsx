/** The line with which a machine joins, and the host as soon as it connects. */
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { CopyCommand } from '../parts/command.tsx';
import { ErrorCard } from '../parts/error-card.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { Mark } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

export function JoinPanel() {
  const { client } = useSession();
  const [name, setName] = useState('');
  const [joined, setJoined] = useState<{ name: string; url: string; until: string }>();
  const [failure, setFailure] = useState<unknown>();
  const issue = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setFailure(undefined);
    try {
      const { url, expires_at: until } = await client.hosts.join({ host: name });
      setJoined({ name, url, until });
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <div className="card body stackwise">
      <form className="row wrap" onSubmit={(event) => void issue(event)}>
        <label htmlFor="join-name">Name of the machine</label>
        <input
          id="join-name"
          className="field grow"
          required
          placeholder="web1"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <button type="submit" className="button first" disabled={name === ''}>
          Show the line
        </button>
      </form>
      {failure !== undefined && <ErrorCard error={failure} />}
      {joined && (
        <>
          <p>Run this on the machine, as root. It works once, until {new Date(joined.until).toLocaleTimeString()}:</p>
          <CopyCommand command={`curl -fsS ${joined.url} | sh`} />
          <Arrival name={joined.name} />
        </>
      )}
      <Same
        command={`anneal host join ${quoted(name || 'web1')}`}
        request={`POST /api/v1/hosts/${encodeURIComponent(name || 'web1')}/join`}
      />
      <div className="row wrap dim">
        For cloud-init, user data or Ansible:{' '}
        <CopyCommand command={`anneal host join ${name || 'web1'} --format cloud-init`} />
      </div>
    </div>
  );
}

function Arrival({ name }: { name: string }) {
  const host = useAsk(['hosts', name, 'arrival'], (client) => client.hosts.show({ host: name }), 2000);
  const isUp = host.data?.status === 'up';
  return (
    <p className="row" role="status">
      <Mark tone={isUp ? 'done' : 'busy'} />
      {isUp ? (
        <>
          <Link className="link" to="/hosts/$host" params={{ host: name }}>
            {name}
          </Link>{' '}
          has joined.
        </>
      ) : (
        `Waiting for ${name} …`
      )}
    </p>
  );
}
