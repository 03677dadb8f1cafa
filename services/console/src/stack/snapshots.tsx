/** The snapshots of a stack: take one, return to one, delete one. */
import type { SnapshotRow } from '@anneal/client/actions.ts';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { StateWord } from '../parts/state.tsx';
import { Age } from '../parts/time.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

const path = '/orchestration/v1/{project}/stacks/{stack}/{id}/snapshots';

export function Snapshots({ stack }: { stack: string }) {
  const { client } = useSession();
  const change = useChange('stack');
  const snapshots = useAsk(['stack', stack, 'snapshots'], (asked) => asked.actions.snapshots({ stack }));
  const [name, setName] = useState('');
  const take = (event: FormEvent): void => {
    event.preventDefault();
    void change(() => client.actions.snapshot({ stack, name }), `The snapshot ${name} is being taken.`);
  };
  return (
    <section className="card" aria-label="Snapshots">
      <header>
        <h2>Snapshots</h2>
      </header>
      <Answer of={snapshots}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>No snapshot yet.</Empty>
          ) : (
            <ul className="needs">
              {rows.map((row) => (
                <Snapshot key={row.id} stack={stack} row={row} />
              ))}
            </ul>
          )
        }
      </Answer>
      <form className="body form" onSubmit={take}>
        <div className="row wrap">
          <label htmlFor="snapshot-name">Name</label>
          <input
            id="snapshot-name"
            className="field"
            required
            placeholder="before-the-upgrade"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <button type="submit" className="button" disabled={name === ''}>
            Take a snapshot
          </button>
        </div>
        <Same
          command={`anneal snapshot create ${quoted(stack)} --name ${quoted(name || 'NAME')}`}
          request={`POST ${path}`}
        />
      </form>
    </section>
  );
}

function Snapshot({ stack, row }: { stack: string; row: SnapshotRow }) {
  const { id, name, status, creation_time: at } = row;
  const { client } = useSession();
  const { attempt } = useNotify();
  const change = useChange('stack');
  const shown = name ?? id;
  const restore = { kind: 'restore', snapshot: id } as const;
  return (
    <li>
      <span />
      <b className="cut">{shown}</b>
      <span className="what">
        <StateWord state={status} />
      </span>
      <span className="dim">
        <Age since={at} />
      </span>
      <span className="act row">
        {status === 'COMPLETE' && (
          <Confirm
            label="Restore"
            title={`Return ${stack} to the snapshot ${shown}?`}
            name={stack}
            command={`anneal snapshot restore ${quoted(stack)} ${quoted(shown)}`}
            request={`POST ${path}/{snapshot}/restore`}
            onConfirm={() =>
              attempt(() => client.actions.act({ stack, action: restore }), `${stack} returns to ${shown}.`)
            }
          >
            Resources that the snapshot does not have are deleted, with what is on them.
          </Confirm>
        )}
        <Confirm
          label="Delete"
          title={`Delete the snapshot ${shown}?`}
          command={`anneal snapshot delete ${quoted(stack)} ${quoted(shown)}`}
          request={`DELETE ${path}/{snapshot}`}
          onConfirm={() =>
            change(() => client.actions.deleteSnapshot({ stack, snapshot: id }), `The snapshot ${shown} is deleted.`)
          }
        >
          The stack stays as it is. This cannot be undone.
        </Confirm>
      </span>
    </li>
  );
}
