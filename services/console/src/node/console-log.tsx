/** What the serial console of a machine showed and shows, as its BMC keeps it. */
import type { ConsoleLogRows, NodeRepresentation } from '@anneal/client/representation.ts';
import { useEffect, useState } from 'react';
import { download } from '../parts/download.ts';
import { reasonOf } from '../parts/error-card.tsx';
import { Followed } from '../parts/followed.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { useSession } from '../session/session.tsx';
import { plainText } from './plain-text.ts';

const mostLines = 1000;
/** The server answers at once when the machine prints, and else after these seconds. */
const waitSeconds = 20;
const againMs = 2000;

/** Follows the log of a node until the page is left. A failure is shown, and the log read again. */
function useConsoleLog(node: string): { readonly log: ConsoleLogRows | undefined; readonly failure: string } {
  const { client } = useSession();
  const [log, setLog] = useState<ConsoleLogRows>();
  const [failure, setFailure] = useState('');
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    const follow = async (): Promise<void> => {
      let known: string | undefined;
      while (!signal.aborted) {
        try {
          const wait = known === undefined ? 0 : waitSeconds;
          const next = await client.nodes.consoleLog({ node, limit: mostLines, known, wait, signal });
          known = next.lines.at(-1)?.id;
          setLog(next);
          setFailure('');
          if (known !== undefined) continue;
        } catch (error) {
          if (signal.aborted) return;
          setFailure(reasonOf(error));
        }
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    };
    void follow();
    return () => ending.abort();
  }, [client, node]);
  return { log, failure };
}

/** Asked for by the reader, because it reaches the BMC, and a machine may print secrets. */
export function ConsoleLog({ node: { name, uuid } }: { node: NodeRepresentation }) {
  const { session } = useSession();
  const [isOpen, setOpen] = useState(false);
  const node = name ?? uuid;
  if (!session.operator) return null;
  if (isOpen) return <Lines node={node} uuid={uuid} onClose={() => setOpen(false)} />;
  return (
    <section className="card" aria-label="Console log">
      <header>
        <h2>Console log</h2>
        <span className="more row wrap">
          what the machine printed, also before you look
          <button type="button" className="button" onClick={() => setOpen(true)}>
            Show and follow
          </button>
        </span>
      </header>
    </section>
  );
}

function Lines({ node, uuid, onClose }: { node: string; uuid: string; onClose: () => void }) {
  const { log, failure } = useConsoleLog(node);
  const { lines, total } = log ?? { lines: [], total: 0 };
  const text = lines.map(({ text: line }) => plainText(line)).join('\n');
  return (
    <div className="stackwise">
      <Followed
        label="Console log"
        text={text}
        empty={log === undefined ? 'Reading from the BMC …' : 'The machine has printed nothing.'}
        failure={failure}
      >
        <span className="dim">
          {total > lines.length && `the last ${lines.length.toLocaleString()} of ${total.toLocaleString()} lines`}
        </span>
        <button
          type="button"
          className="button"
          disabled={lines.length === 0}
          onClick={() => download(`${node}-console.log`, `${text}\n`)}
        >
          Download
        </button>
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </Followed>
      <Same
        command={`anneal node console ${quoted(node)} --log -f`}
        request={`GET /api/v1/nodes/${uuid}/console-log`}
      />
    </div>
  );
}
