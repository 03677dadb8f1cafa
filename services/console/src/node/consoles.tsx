/** How a person reaches the consoles that the BMC of a node offers. */
import type { NodeConsole, NodeRepresentation } from '@anneal/client/representation.ts';
import { CopyCommand, Empty } from '../parts/command.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';

const titles = { serial: 'Serial console', graphical: 'Screen', shell: 'Command line of the BMC' } as const;

export function Consoles({ node: { name, uuid, consoles } }: { node: NodeRepresentation }) {
  const word = quoted(name ?? uuid);
  return (
    <section className="card" aria-label="Console">
      <header>
        <h2>Console</h2>
      </header>
      {consoles === null || consoles.length === 0 ? (
        <Empty command={`anneal node provide ${word} --verb inspect`}>
          {consoles === null
            ? 'No inspection has looked for a console yet. Inspect the node:'
            : 'Its BMC offers no console. Turn one on at the BMC, then inspect the node:'}
        </Empty>
      ) : (
        <div className="body stackwise">
          <dl className="facts">
            {consoles.map((each) => (
              <Console key={`${each.kind} ${each.protocol} ${each.url}`} console={each} />
            ))}
          </dl>
          <Same command={`anneal node console ${word} --run`} request={`GET /baremetal/v1/nodes/${uuid}`} />
        </div>
      )}
    </section>
  );
}

function Console({ console: { kind, protocol, url, command, enter, leave } }: { console: NodeConsole }) {
  return (
    <>
      <dt>{titles[kind]}</dt>
      <dd className="row wrap">
        {command === null ? (
          <a className="link" href={url} target="_blank" rel="noreferrer">
            {url}
          </a>
        ) : (
          <CopyCommand command={command.map(quoted).join(' ')} />
        )}
        <span className="dim">
          {command === null ? 'in a browser' : `over ${protocol}; it asks for the password of the BMC`}
          {enter !== null && `; enter “${enter}” at its prompt`}
          {leave !== null && `; leave with ${leave}`}
        </span>
      </dd>
    </>
  );
}
