/** The work in progress of a node, and what it warns of. */
import { notesOf, workOf } from '@anneal/client/text/node-notes.ts';
import type { NodeRepresentation } from '@anneal/client/representation.ts';

/** The part about the BMC shows these. */
const ofBmc: readonly string[] = ['Identity', 'Stalled'];

export function Notes({ node }: { node: NodeRepresentation }) {
  const work = workOf(node);
  const notes = notesOf(node).filter(({ type }) => !ofBmc.includes(type));
  if (work === null && notes.length === 0) return null;
  return (
    <section className="card" aria-label="Work and warnings">
      <dl className="facts body">
        {work !== null && (
          <>
            <dt>Work</dt>
            <dd>{work}</dd>
          </>
        )}
        {notes.map(({ type, message }) => (
          <div key={type} style={{ display: 'contents' }}>
            <dt>{type}</dt>
            <dd>{message}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
