/** Subscriptions: who is notified, what waits, what was answered; test, pause, replay. */
import type { SubscriptionView } from '@anneal/contracts/calls/subscriptions.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { formatClock, formatDuration } from '@anneal/client/text/time.ts';
import { SecretOnce, type ShownSecret } from '../access/secret.tsx';
import { Subscribe } from '../subscription/subscribe.tsx';
import { useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { useChosen } from '../parts/chosen.ts';
import { Act } from '../parts/act.tsx';
import { Answer } from '../parts/answer.tsx';
import { CloseDetail } from '../parts/close-detail.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { PanelToggle, usePanel } from '../parts/panel.tsx';
import { useNotify, type Undo } from '../parts/notices.tsx';
import { Mark, StatePill, StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { Age, Until } from '../parts/time.tsx';
import { Same } from '../parts/same.tsx';
import { useSession } from '../session/session.tsx';

export function SubscriptionsPage() {
  const subscriptions = useAsk(['subscriptions'], (client) => client.subscriptions.list(), 3000);
  const find = useFilter();
  const [chosen, choose] = useChosen();
  const { open } = usePanel();
  const navigate = useNavigate();
  const [secret, setSecret] = useState<ShownSecret>();
  const columns: readonly Column<SubscriptionView>[] = [
    {
      name: 'Subscription',
      cell: ({ id, name }) => (
        <button type="button" className="link" onClick={() => choose(id)}>
          {name || id}
        </button>
      ),
      sort: ({ name }) => name,
    },
    { name: 'Status', cell: (row) => <StateWord state={stateOf(row)} />, sort: stateOf },
    {
      name: 'Waiting',
      cell: ({ backlog }) => backlog.toLocaleString(),
      sort: ({ backlog }) => backlog,
      isNumber: true,
    },
    {
      name: 'Last success',
      cell: ({ last_success_at: at }) => <Age since={at} none="never" />,
      isNumber: true,
      isExtra: true,
    },
    { name: 'Events', cell: ({ types }) => <code>{types.join(', ')}</code>, isExtra: true },
    { name: 'Listener', cell: ({ url }) => <span className="mono dim">{url}</span>, isExtra: true },
  ];
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Subscriptions</h1>
        <Filter what="subscriptions by name, listener or status" />
        <PanelToggle name="new" isFirst>
          Subscribe …
        </PanelToggle>
      </div>
      {secret && <SecretOnce secret={secret} close={() => setSecret(undefined)} />}
      {open === 'new' && (
        <Subscribe
          onDone={(id, shown) => {
            void navigate({ to: '/subscriptions', search: { sel: id } });
            setSecret(shown);
          }}
        />
      )}
      <Answer of={subscriptions}>
        {(rows) => {
          const shown = rows.find(({ id }) => id === chosen);
          return (
            <>
              <section className="card">
                <Table
                  label="Subscriptions"
                  rows={matching(rows, find, ({ name, url, status }) => [name, url, status])}
                  columns={columns}
                  keyOf={({ id }) => id}
                  empty={
                    <Empty command="anneal subscription create https://… --type 'stack.#'">
                      {find === '' ? 'No listener is subscribed. Subscribe one:' : 'No subscription matches.'}
                    </Empty>
                  }
                />
              </section>
              {shown && <Detail key={shown.id} subscription={shown} onSecret={setSecret} />}
            </>
          );
        }}
      </Answer>
      <Same command="anneal subscription list" request="GET /api/v1/subscriptions" />
    </div>
  );
}

/** An active subscription whose listener refused the latest request is tried again. */
const stateOf = ({ status, last_error: error, backlog }: SubscriptionView): string =>
  status === 'active' && error !== null && backlog > 0 ? 'retrying after an error' : status;

function Detail({
  subscription,
  onSecret,
}: {
  subscription: SubscriptionView;
  onSecret: (secret: ShownSecret) => void;
}) {
  const { id, name, reason, last_error: error } = subscription;
  return (
    <section className="card" aria-label={`Subscription ${name}`}>
      <header>
        <h2>{name || id}</h2>
        <StatePill state={stateOf(subscription)} />
        <span className="more row wrap">
          <Actions subscription={subscription} onSecret={onSecret} />
          <CloseDetail />
        </span>
      </header>
      <div className="body stackwise">
        {(reason ?? error) && <p className="tone-failed">{reason ?? error}</p>}
        <dl className="facts">
          <dt>Listener</dt>
          <dd className="mono">{subscription.url}</dd>
          <dt>Events</dt>
          <dd className="mono">{subscription.types.join(', ')}</dd>
          <dt>Waiting</dt>
          <dd>{subscription.backlog.toLocaleString()}</dd>
          <dt>Next attempt</dt>
          <dd>{subscription.next_attempt_at ? <Until time={subscription.next_attempt_at} /> : 'at the next event'}</dd>
          {subscription.dropped && (
            <>
              <dt>Lost</dt>
              <dd className="tone-failed">
                {subscription.dropped.count.toLocaleString()} events from {formatClock(subscription.dropped.since)} to{' '}
                {formatClock(subscription.dropped.last)}
              </dd>
            </>
          )}
        </dl>
        <Replay subscription={subscription} />
        <Attempts id={id} />
      </div>
    </section>
  );
}

function Actions({
  subscription: { id, name, status, url },
  onSecret,
}: {
  subscription: SubscriptionView;
  onSecret: (secret: ShownSecret) => void;
}) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const queries = useQueryClient();
  const path = `/api/v1/subscriptions/${id}`;
  const pausing = (verb: 'pause' | 'resume') => ({
    action: () => client.subscriptions[verb]({ id }),
    done: verb === 'pause' ? `${name} is paused; its events wait.` : `${name} is active.`,
  });
  const act = (
    label: string,
    verb: 'test' | 'pause' | 'resume' | 'retry',
    { action, done, undo }: Undo & { undo?: Undo },
  ) => (
    <Act
      label={label}
      command={`anneal subscription ${verb} ${id}`}
      request={`POST ${path}/${verb}`}
      onAct={() => attempt(action, done, undo).then(() => queries.invalidateQueries({ queryKey: ['subscriptions'] }))}
    />
  );
  const test = async (): Promise<void> => {
    const answer = await client.subscriptions.test({ id });
    const { error } = answer;
    if (error !== null) throw new Error(`The listener refused the test event: ${error}`);
  };
  return (
    <>
      {act('Send a test event', 'test', { action: test, done: `${name} accepted the test event.` })}
      {status === 'active'
        ? act('Pause', 'pause', { ...pausing('pause'), undo: pausing('resume') })
        : act('Resume', 'resume', pausing('resume'))}
      {act('Attempt now', 'retry', {
        action: () => client.subscriptions.retry({ id }),
        done: `What waits for ${name} is attempted.`,
      })}
      {url.startsWith('http') && (
        <Confirm
          label="New secret"
          title={`Replace the secret of ${name}?`}
          command={`anneal subscription rotate-secret ${id}`}
          request={`POST ${path}/rotate-secret`}
          onConfirm={() =>
            attempt(async () => {
              const { secret } = await client.subscriptions.rotateSecret({ id });
              onSecret({ title: `${name} has a new secret.`, values: { secret } });
            }, `The secret of ${name} is replaced.`)
          }
        >
          Deliveries are signed with the new secret, which is shown once. The old one signs beside it for a while, so
          that the listener can change.
        </Confirm>
      )}
      <Confirm
        label="Delete"
        title={`Delete the subscription ${name}?`}
        name={name}
        command={`anneal subscription delete ${id}`}
        request={`DELETE ${path}`}
        onConfirm={() =>
          attempt(() => client.subscriptions.delete({ id }), `${name} is deleted.`).then(() =>
            queries.invalidateQueries({ queryKey: ['subscriptions'] }),
          )
        }
      >
        The events that wait for the listener are not delivered. This cannot be undone.
      </Confirm>
    </>
  );
}

const hours = [1, 6, 24] as const;

function Replay({ subscription: { id, name } }: { subscription: SubscriptionView }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const [last, setLast] = useState<number>(1);
  const from = (): string => new Date(Date.now() - last * 3_600_000).toISOString();
  const replay = async (): Promise<void> => {
    await client.subscriptions.replayRange({ id, from: from() });
  };
  return (
    <div className="row wrap">
      <label htmlFor="replay-hours">Send the events again of the last</label>
      <select
        id="replay-hours"
        className="field"
        value={last}
        onChange={(event) => setLast(Number(event.target.value))}
      >
        {hours.map((each) => (
          <option key={each} value={each}>
            {each === 1 ? 'hour' : `${each} hours`}
          </option>
        ))}
      </select>
      <Act
        label="Replay"
        command={`anneal subscription replay ${id} --from ${from()}`}
        request={`POST /api/v1/subscriptions/${id}/replay`}
        onAct={() => attempt(replay, `${name} gets the events again.`)}
      />
    </div>
  );
}

function Attempts({ id }: { id: string }) {
  const attempts = useAsk(
    ['subscriptions', id, 'attempts'],
    (client) => client.subscriptions.attempts({ id, limit: 50 }),
    3000,
  );
  return (
    <Answer of={attempts}>
      {(rows) =>
        rows.length === 0 ? (
          <Empty>The listener has had no request yet.</Empty>
        ) : (
          <div className="table-view" tabIndex={0} role="region" aria-label="Delivery log">
            <table className="table">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Answer</th>
                  <th scope="col" className="number">
                    Time
                  </th>
                  <th scope="col">Event</th>
                  <th scope="col" className="wide-only">
                    Error
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <tr key={`${row.at} ${row.event_id} ${row.sequence}`}>
                    <td className="mono">{formatClock(row.at)}</td>
                    <td>
                      <span className="row">
                        <Mark
                          tone={row.error === null ? 'done' : 'failed'}
                          label={row.error === null ? 'accepted' : 'refused'}
                        />
                        {row.status ?? 'none'}
                      </span>
                    </td>
                    <td className="number">{formatDuration(row.ms)}</td>
                    <td>
                      {row.event_type}
                      {row.events > 1 && ` and ${row.events - 1} more`}
                    </td>
                    <td className="wide-only dim">{row.error}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Answer>
  );
}
