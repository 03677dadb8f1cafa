/** Why something does not go on: one sentence, the chain to the cause, and the ways out as buttons. */
import { type Tone } from '@anneal/client/text/tone.ts';
import type { Why } from '@anneal/client/actions.ts';
import { useLocation } from '@tanstack/react-router';
import { Act } from '../parts/act.tsx';
import { useNotify } from '../parts/notices.tsx';
import { useSession } from '../session/session.tsx';
import { exitActionOf, exitPageOf, isShown } from '../parts/exits.ts';
import { Go } from '../parts/go.tsx';
import { CopyCommand } from '../parts/command.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { Mark } from '../parts/state.tsx';
import { Age } from '../parts/time.tsx';

export function WhyCard({ why, tone }: { why: Why; tone: Tone }) {
  return (
    <section className={`why tone-${tone}`} aria-label="Why">
      <p className="row">
        <Mark tone={tone} />{' '}
        <b>
          <Sentence text={why.summary} />
        </b>
      </p>
      {why.chain.length > 1 && (
        <ol>
          {why.chain.map(({ object, state, reason, since }) => (
            <li key={`${object} ${state}`}>
              <b>{object}</b> {state}
              {reason !== '' && !why.summary.includes(reason) && (
                <>
                  : <Sentence text={reason} />
                </>
              )}{' '}
              {since !== null && (
                <span className="dim">
                  for <Age since={since} />
                </span>
              )}
            </li>
          ))}
        </ol>
      )}
      <Exits exits={why.exits} />
    </section>
  );
}

/** What the console can do itself comes first, then what it shows. */
const ranked = (exits: readonly string[]): readonly string[] => {
  const rankOf = (exit: string): number => (exitActionOf(exit) ? 0 : exitPageOf(exit) ? 1 : 2);
  return exits.toSorted((a, b) => rankOf(a) - rankOf(b));
};

/** Each way out: a button when the console can do it, a link to its page, otherwise the command. */
export function Exits({ exits, most = 6 }: { exits: readonly string[]; most?: number }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const here = useLocation();
  // The page that a reader looks at needs no link to itself.
  const others = exits.filter((exit) => {
    const page = exitPageOf(exit);
    return page === undefined || !isShown(page.href, here);
  });
  if (others.length === 0) return null;
  return (
    <div className="exits">
      {ranked(others)
        .slice(0, most)
        .map((exit) => {
          const action = exitActionOf(exit);
          const page = exitPageOf(exit);
          return action ? (
            <Act
              key={exit}
              label={action.label}
              command={exit}
              request={action.request}
              onAct={() => attempt(() => action.run(client), action.done)}
            />
          ) : page ? (
            <Go key={exit} href={page.href}>
              {page.label}
            </Go>
          ) : (
            <CopyCommand key={exit} command={exit} />
          );
        })}
    </div>
  );
}
