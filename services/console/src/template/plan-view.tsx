/** A plan as a difference: what is created, changed in place, replaced and why, and deleted. */
import type { PlannedChange } from '@anneal/contracts/calls/previews.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Tone } from '@anneal/client/text/tone.ts';

type Kind = 'delete' | 'replace' | 'update' | 'create' | 'unchanged';
const kinds: readonly { readonly kind: Kind; readonly mark: string; readonly tone: Tone; readonly words: string }[] = [
  { kind: 'delete', mark: '−', tone: 'failed', words: 'deleted' },
  { kind: 'replace', mark: '±', tone: 'wait', words: 'replaced' },
  { kind: 'update', mark: '~', tone: 'idle', words: 'updated in place' },
  { kind: 'create', mark: '+', tone: 'idle', words: 'created' },
];
const kindOf = ({ change }: PlannedChange): Kind => change.replace('maybe ', '') as Kind;

/** The changes that destroy something that exists. */
export const destroyedBy = (changes: readonly PlannedChange[]): readonly PlannedChange[] =>
  changes.filter((change) => kindOf(change) === 'delete' || kindOf(change) === 'replace');

const widest = 400;
const shown = (value: Json | undefined): string => {
  if (value === undefined) return 'not set';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > widest ? `${text.slice(0, widest)}…` : text;
};

const pathOf = (resource: string): string => resource.replaceAll('.resources.', '/');

/** `2 replaced, 1 created, 12 unchanged`. */
export function planWords(changes: readonly PlannedChange[]): string {
  const counts = Map.groupBy(changes, kindOf);
  const parts = kinds.flatMap(({ kind, words }) => {
    const count = counts.get(kind)?.length ?? 0;
    return count > 0 ? [`${count} ${words}`] : [];
  });
  return [...parts, `${counts.get('unchanged')?.length ?? 0} unchanged`].join(', ');
}

export function PlanView({ changes }: { changes: readonly PlannedChange[] }) {
  const groups = Map.groupBy(changes, kindOf);
  const unchanged = groups.get('unchanged') ?? [];
  return (
    <div className="plan">
      {kinds.map(({ kind, ...how }) =>
        (groups.get(kind) ?? [])
          .toSorted((a, b) => a.step - b.step)
          .map((change) => <Change key={`${kind} ${change.resource}`} change={change} {...how} />),
      )}
      {unchanged.length > 0 && (
        <details>
          <summary>{unchanged.length} unchanged</summary>
          <ul>
            {unchanged.slice(0, 500).map(({ resource, type, because }) => (
              <li key={resource}>
                {pathOf(resource)} <code className="dim">{type}</code> <span className="dim">{because}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Change({ change, mark, tone, words }: { change: PlannedChange; mark: string; tone: Tone; words: string }) {
  const { resource, type, because, order, properties, step } = change;
  const isMaybe = change.change.startsWith('maybe');
  const isWhole = kindOf(change) === 'create' || kindOf(change) === 'delete';
  const reasons = properties.filter(({ replaces }) => replaces).map(({ property }) => property);
  return (
    <section className="change" aria-label={`${pathOf(resource)} ${words}`}>
      <p className="row wrap">
        <b className={`sign tone-${tone}`} aria-hidden="true">
          {mark}
        </b>
        <b>{pathOf(resource)}</b>
        <span className={`pill tone-${tone}`}>{isMaybe ? `maybe ${words}` : words}</span>
        <code className="dim">{type}</code>
        <span className="dim more">step {step}</span>
      </p>
      {reasons.length > 0 && <p>Replaced because {reasons.join(' and ')} cannot change in place.</p>}
      {because !== undefined && <p>Because {because}.</p>}
      {order !== undefined && (
        <p className={order === 'delete before create' ? 'tone-failed' : 'dim'}>
          {order === 'delete before create'
            ? 'The old one is deleted before the new one exists.'
            : 'The new one is created before the old one is deleted.'}
        </p>
      )}
      {!isWhole && properties.length > 0 && (
        <table className="diff">
          <thead className="hidden-label">
            <tr>
              <th>Property</th>
              <th>Before</th>
              <th>After</th>
            </tr>
          </thead>
          <tbody>
            {properties.map(({ property, before, after, known, replaces }) => (
              <tr key={property}>
                <th scope="row" className="mono">
                  {property}
                  {replaces && <span className="tone-wait"> forces replacement</span>}
                </th>
                <td className="mono before">{shown(before)}</td>
                <td className={known ? 'mono after' : 'dim after'}>{known ? shown(after) : 'known after apply'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {isWhole && kindOf(change) === 'create' && properties.length > 0 && (
        <details>
          <summary>{properties.length} properties</summary>
          <dl className="facts">
            {properties.map(({ property, after, known }) => (
              <div key={property} style={{ display: 'contents' }}>
                <dt className="mono">{property}</dt>
                <dd className={known ? 'mono' : 'dim'}>{known ? shown(after) : 'known after apply'}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </section>
  );
}
