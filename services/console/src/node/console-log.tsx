/** What the serial console of a machine showed and shows, as its BMC keeps it. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { reasonOf } from '../parts/error-card.tsx';
import { Followed } from '../parts/followed.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { useSession } from '../session/session.tsx';
import { plainText } from './plain-text.ts';

const mostLines = 1000;
const everyMs = 2000;

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
  const log = useAsk(['console log', node], (client) => client.nodes.consoleLog({ node, limit: mostLines }), everyMs);
  const { lines, total } = log.data ?? { lines: [], total: 0 };
  const text = lines.map(({ text: line }) => plainText(line)).join('\n');
  const download = (): void => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: 'text/plain' }));
    link.download = `${node}-console.log`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <div className="stackwise">
      <Followed
        label="Console log"
        text={text}
        empty={log.isPending ? 'Reading from the BMC …' : 'The machine has printed nothing.'}
        failure={log.error ? reasonOf(log.error) : ''}
      >
        <span className="dim">
          {total > lines.length && `the last ${lines.length.toLocaleString()} of ${total.toLocaleString()} lines`}
        </span>
        <button type="button" className="button" disabled={lines.length === 0} onClick={download}>
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
