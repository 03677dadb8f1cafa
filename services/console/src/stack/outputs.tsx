/** The outputs of a stack. */
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';

/** Heat describes an output without a description with these words. */
const isDescribed = (description: string | null | undefined): boolean =>
  description !== '' && description !== undefined && description !== null && description !== 'No description given';

export function StackOutputs({ stack }: { stack: string }) {
  const outputs = useAsk(['stack', stack, 'outputs'], (client) => client.stacks.outputs({ stack }));
  return (
    <section className="card">
      <Answer of={outputs}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>{stack} has no outputs.</Empty>
          ) : (
            <dl className="facts body">
              {rows.map(({ output_key: key, output_value: value, output_error: error, description }) => (
                <div key={key} style={{ display: 'contents' }}>
                  <dt>{key}</dt>
                  <dd>
                    <span className={error === undefined ? 'mono' : 'tone-failed'}>
                      {error ?? (typeof value === 'string' ? value : JSON.stringify(value ?? null))}
                    </span>
                    {isDescribed(description) && <div className="dim">{description}</div>}
                  </dd>
                </div>
              ))}
            </dl>
          )
        }
      </Answer>
    </section>
  );
}
