/** The quotas of a project: what it uses, what it may use, and a form that sets another limit. */
import type { QuotaName, QuotaView } from '@anneal/contracts/calls/quotas.ts';
import { formatSize } from '@anneal/client/text/size.ts';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { useSession } from '../session/session.tsx';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';

const meanings: Readonly<Record<QuotaName, string>> = {
  stacks: 'Stacks',
  resources: 'Resources of all stacks',
  stack_bytes: 'Bytes of all stacks',
  hosts: 'Hosts',
  queues: 'Queues besides those of hosts',
  subscriptions: 'Subscriptions',
  alarms: 'Alarms',
  credentials: 'Machine credentials',
  series: 'Series of measurements',
};

const request = '/api/v1/projects/{project}/quota';
const numberText = (value: number): string => value.toLocaleString('en');
const amountText = (name: QuotaName, value: number): string =>
  name === 'stack_bytes' ? formatSize(value) : numberText(value);

export function Quotas({ name, id }: { name: string; id: string }) {
  const quotas = useAsk(['identity', 'quota', id], ({ identity }) => identity.projects.quota(id));
  return (
    <section className="card" aria-label="Quotas">
      <header>
        <h2>Quotas</h2>
      </header>
      <div className="body stackwise">
        <Answer of={quotas}>
          {(rows) => (
            <>
              <ul className="grants" aria-label="Quotas">
                {rows.map((row) => (
                  <li key={row.name} className="row wrap">
                    <span className="grow">{meanings[row.name]}</span>
                    <span>
                      <b>{amountText(row.name, row.used)}</b> of {amountText(row.name, row.limit)}
                      {row.limit === row.default && <span className="dim"> (default)</span>}
                    </span>
                  </li>
                ))}
              </ul>
              <QuotaForm name={name} id={id} rows={rows} />
            </>
          )}
        </Answer>
      </div>
    </section>
  );
}

function QuotaForm({ name, id, rows }: { name: string; id: string; rows: readonly QuotaView[] }) {
  const { client } = useSession();
  const change = useChange('identity');
  const [chosen, choose] = useState<QuotaName>('stacks');
  const [limit, setLimit] = useState('');
  const wanted = limit === '' ? null : Number(limit);
  const isRight = wanted === null || (Number.isInteger(wanted) && wanted >= 0);
  const text = `${meanings[chosen].toLowerCase()}: ${wanted === null ? 'the default' : numberText(wanted)}`;
  const set = (event: FormEvent) => {
    event.preventDefault();
    void change(
      () => client.identity.projects.setQuota({ project: id, limits: { [chosen]: wanted } }),
      `The project ${name} has a new limit of ${text}.`,
    );
  };
  return (
    <form className="stackwise" onSubmit={set}>
      <div className="row wrap">
        <select
          className="field"
          aria-label="The quota"
          value={chosen}
          onChange={(event) => choose(event.target.value as QuotaName)}
        >
          {rows.map((row) => (
            <option key={row.name} value={row.name}>
              {meanings[row.name]}
            </option>
          ))}
        </select>
        <input
          className="field"
          aria-label="The limit"
          inputMode="numeric"
          placeholder="Default"
          value={limit}
          onChange={(event) => setLimit(event.target.value)}
        />
        <button type="submit" className="button" disabled={!isRight}>
          Set
        </button>
      </div>
      <Same command={`anneal project quota ${name} ${chosen}=${limit || 'default'}`} request={`POST ${request}`} />
    </form>
  );
}
