/** Why something does not go on: one sentence, the chain to the cause, and the ways out as buttons. */
import { type Tone } from '@anneal/client/text/tone.ts';
import type { Why } from '@anneal/client/actions.ts';
import { Act } from './act.tsx';
import { useNotify } from './notices.tsx';
import { useSession } from '../session/session.tsx';
import { exitActionOf } from './exits.ts';
import { CopyCommand } from './command.tsx';
import { Mark } from './state.tsx';
import { Age } from './time.tsx';

export function WhyCard({ why, tone }: { why: Why; tone: Tone }) {
  return (
    <section className={`why tone-${tone}`} aria-label="Why">
      <p className="row">
        <Mark tone={tone} /> <b>{why.summary}</b>
      </p>
      {why.chain.length > 1 && (
        <ol>
          {why.chain.map(({ object, state, reason, since }) => (
            <li key={`${object} ${state}`}>
              <b>{object}</b> {state}
              {reason !== '' && !why.summary.includes(reason) && `: ${reason}`}{' '}
              <span className="dim">
                <Age since={since} />
              </span>
            </li>
          ))}
        </ol>
      )}
      <Exits exits={why.exits} />
    </section>
  );
}

/** What the console can do itself comes first. */
const doable = (exits: readonly string[]): readonly string[] =>
  exits.toSorted((a, b) => Number(exitActionOf(b) !== undefined) - Number(exitActionOf(a) !== undefined));

/** Each way out: a button when the console can do it, otherwise the command. */
export function Exits({ exits, most = 6 }: { exits: readonly string[]; most?: number }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  if (exits.length === 0) return null;
  return (
    <div className="exits">
      {doable(exits)
        .slice(0, most)
        .map((exit) => {
          const action = exitActionOf(exit);
          return action ? (
            <Act
              key={exit}
              label={action.label}
              command={exit}
              request={action.request}
              onAct={() => attempt(() => action.run(client), action.done)}
            />
          ) : (
            <CopyCommand key={exit} command={exit} />
          );
        })}
    </div>
  );
}
