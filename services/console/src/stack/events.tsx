/** The events of a stack, the newest first. */
import { toneOf } from '@anneal/client/text/tone.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { Mark, wordsOf } from '../parts/state.tsx';
import { Clock } from '../parts/time.tsx';

export function StackEvents({ stack }: { stack: string }) {
  const events = useAsk(['stack', stack, 'events'], (client) =>
    client.stacks.events({ stack, limit: 300, descending: true }),
  );
  return (
    <section className="card">
      <Answer of={events}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>No event yet.</Empty>
          ) : (
            <ul className="log body">
              {rows.map((row) => (
                <li key={row.id}>
                  <Clock time={row.event_time} />
                  <Mark tone={toneOf(row.resource_status)} />
                  <span className="cut">
                    <b>{row.resource_name}</b> {wordsOf(row.resource_status)}
                  </span>
                  <span className="dim detail">
                    <Sentence text={row.resource_status_reason ?? ''} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  );
}
