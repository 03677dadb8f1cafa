/** The alarms of a stack: their state and its reason, the values that they compare, their history; and setting the state. */
import type { AlarmSeries } from '@anneal/client/alarms.ts';
import type { AlarmView } from '@anneal/contracts/calls/alarms.ts';
import { formatClock } from '@anneal/client/text/time.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { Mark, StateWord } from '../parts/state.tsx';
import { Age, Clock } from '../parts/time.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

export function Alarms({ stack }: { stack: string }) {
  const alarms = useAsk(['stack', stack, 'alarms'], (client) => client.alarms.list({ stack }), 5000);
  return (
    <section className="card" aria-label="Alarms">
      <header>
        <h2>Alarms</h2>
      </header>
      <Answer of={alarms}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty command="anneal explain OS::Aodh::Alarm">
              {stack} has no alarms. A template adds one by a type such as:
            </Empty>
          ) : (
            <ul className="needs">
              {rows.map((row) => (
                <Alarm key={row.id} alarm={row} />
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  );
}

/** Each state, and what setting it does. */
const states = [
  ['alarm', 'Set off'],
  ['ok', 'Reset'],
] as const;

function Alarm({ alarm }: { alarm: AlarmView }) {
  const { id, name, state, state_reason: reason, state_at: at, type, actions } = alarm;
  const { client } = useSession();
  const change = useChange('stack');
  return (
    <li>
      <Mark tone={toneOf(state)} />
      <b className="cut">{name}</b>
      <span className="what">{reason}</span>
      <span className="dim">
        <Age since={at} />
      </span>
      <span className="act row wrap">
        <StateWord state={state} /> <code className="dim wide-only">{type}</code>
        {states
          .filter(([wanted]) => wanted !== state)
          .map(([wanted, label]) => (
            <Confirm
              key={wanted}
              label={label}
              title={`Set the alarm ${name} to ${wanted}?`}
              command={`anneal alarm set ${quoted(name)} --state ${wanted}`}
              request={`POST /api/v1/alarms/${id}/state`}
              onConfirm={() =>
                change(() => client.alarms.set({ alarm: id, state: wanted }), `${name} is set to ${wanted}.`)
              }
            >
              {effectOf(actions.filter(({ on }) => on === wanted).map(({ target }) => target))} Its next evaluation can
              change its state again.
            </Confirm>
          ))}
      </span>
      <Values alarm={id} />
      <AlarmHistory alarm={id} name={name} />
    </li>
  );
}

const effectOf = (targets: readonly string[]): string =>
  targets.length === 0
    ? 'It has no action for that state.'
    : `Its ${targets.length === 1 ? 'action runs' : `${targets.length} actions run`}, as when a measurement does it: ${targets.join(', ')}.`;

/** Asked when the reader opens it. */
function AlarmHistory({ alarm, name }: { alarm: string; name: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="values" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>History</summary>
      {isOpen && <AlarmChanges alarm={alarm} name={name} />}
    </details>
  );
}

function AlarmChanges({ alarm, name }: { alarm: string; name: string }) {
  const history = useAsk(
    ['stack', 'alarm', alarm, 'history'],
    (client) => client.alarms.history({ alarm, limit: 50 }),
    5000,
  );
  return (
    <>
      <Answer of={history}>
        {(rows) =>
          rows.length === 0 ? (
            <p className="dim">{name} has not changed yet.</p>
          ) : (
            <ul className="log flat" aria-label={`History of ${name}`}>
              {rows.map(({ at, kind, detail }) => (
                <li key={`${at} ${kind} ${detail}`}>
                  <Clock time={at} />
                  <Mark tone={kind === 'action failed' ? 'failed' : 'idle'} />
                  <span>{kind}</span>
                  <span className="dim detail">{detail}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <Same command={`anneal alarm history ${quoted(name)}`} request={`GET /api/v1/alarms/${alarm}/history`} />
    </>
  );
}

/** The values that an alarm compares, with its threshold as a line. */
function Values({ alarm }: { alarm: string }) {
  const series = useAsk(['alarm', alarm, 'series'], (client) => client.alarms.series({ alarm }), 10_000);
  return (series.data ?? []).map((each) => <Curve key={each.rule} series={each} />);
}

function Curve({ series: { rule, threshold, points } }: { series: AlarmSeries }) {
  const values = points.flatMap(({ value }) => value ?? []);
  if (values.length === 0) return <p className="values dim">{rule}: no measurement yet</p>;
  const [low, high] = [Math.min(threshold, ...values), Math.max(threshold, ...values)];
  const yOf = (value: number): number => 60 - (56 * (value - low)) / (high - low || 1);
  const step = 600 / Math.max(1, points.length - 1);
  const line = points.flatMap(({ value }, at) => (value === null ? [] : [`${at * step},${yOf(value)}`]));
  return (
    <figure className="values">
      <svg
        className="chart"
        viewBox="0 0 600 64"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${rule}, latest ${values.at(-1)}`}
      >
        <polyline
          className="limit"
          points={`0,${yOf(threshold)} 600,${yOf(threshold)}`}
          vectorEffect="non-scaling-stroke"
        />
        <polyline points={line.join(' ')} vectorEffect="non-scaling-stroke" />
      </svg>
      <figcaption className="dim">
        <code>{rule}</code> latest {values.at(-1)}, from {Math.min(...values)} to {Math.max(...values)} since{' '}
        {formatClock(points[0]?.at ?? '')}
      </figcaption>
    </figure>
  );
}
