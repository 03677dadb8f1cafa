/** A new subscription: who is notified, and of which events. */
import { useState, type FormEvent } from 'react';
import type { ShownSecret } from '../access/secret.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';
import {
  mistakesIn,
  wantedOf,
  wishGroups,
  wishOptions,
  wordsIn,
  type SubscriptionWish,
  type WishField,
} from './wish.ts';

/** Common wishes, in the patterns of types. */
const examples = ['stack.#', 'stack.*.failed', 'node.#', 'host.silent', 'deployment.failed', '#'];

export function Subscribe({ onDone }: { onDone: (id: string, secret: ShownSecret | undefined) => void }) {
  const { client } = useSession();
  const change = useChange('subscriptions');
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [types, setTypes] = useState('stack.#');
  const [wish, setWish] = useState<SubscriptionWish>({});
  const wanted = wordsIn(types);
  const mistakes = mistakesIn(wish);
  const subscribe = (event: FormEvent): void => {
    event.preventDefault();
    void change(async () => {
      const { subscription, secret } = await client.subscriptions.create({
        name,
        url,
        types: wanted,
        ...wantedOf(wish),
      });
      onDone(subscription.id, secret ? { title: `${name} signs its deliveries.`, values: { secret } } : undefined);
    }, `${name} is subscribed.`);
  };
  return (
    <form className="card body form" onSubmit={subscribe}>
      <div>
        <label htmlFor="subscription-name">Name</label>
        <input
          id="subscription-name"
          className="field"
          required
          placeholder="pager"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </div>
      <div>
        <label htmlFor="subscription-url">
          Listener <span className="dim">an address that gets each event, or queue:NAME</span>
        </label>
        <input
          id="subscription-url"
          className="field mono"
          required
          placeholder="https://…"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
      </div>
      <EventsField types={types} onChange={setTypes} />
      <MoreFields wish={wish} onChange={setWish} />
      {mistakes.length > 0 && (
        <p className="tone-failed" role="alert">
          {mistakes.join(' ')}
        </p>
      )}
      <div className="row">
        <button
          type="submit"
          className="button first"
          disabled={name === '' || url === '' || wanted.length === 0 || mistakes.length > 0}
        >
          Subscribe
        </button>
      </div>
      <Same
        command={`anneal subscription create ${quoted(url || 'URL')} --name ${quoted(name || 'NAME')}${[...wanted.map((each) => `--type ${quoted(each)}`), ...wishOptions(wish)].map((option) => ` ${option}`).join('')}`}
        request="POST /api/v1/subscriptions"
      />
    </form>
  );
}

function EventsField({ types, onChange }: { types: string; onChange: (types: string) => void }) {
  return (
    <div>
      <label htmlFor="subscription-types">
        Events <span className="dim">patterns of types: * is one word, # any number</span>
      </label>
      <input
        id="subscription-types"
        className="field mono"
        list="subscription-examples"
        value={types}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id="subscription-examples">
        {examples.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </div>
  );
}

/** The fields that many subscriptions leave as they are. */
function MoreFields({ wish, onChange }: { wish: SubscriptionWish; onChange: (wish: SubscriptionWish) => void }) {
  const { session } = useSession();
  return wishGroups.map((group) => (
    <details key={group.title}>
      <summary>{group.title}</summary>
      <div className="fields">
        {group.fields
          .filter(({ operator }) => !operator || session.operator)
          .map((field) => (
            <Field
              key={field.key}
              field={field}
              text={wish[field.key] ?? ''}
              onChange={(text) => onChange({ ...wish, [field.key]: text })}
            />
          ))}
      </div>
    </details>
  ));
}

function Field({ field, text, onChange }: { field: WishField; text: string; onChange: (text: string) => void }) {
  const { key, kind, label, note, choices } = field;
  const id = `subscription-${key}`;
  if (kind === 'check') {
    return (
      <div>
        <label className="row" htmlFor={id}>
          <input
            id={id}
            type="checkbox"
            checked={text !== ''}
            onChange={(event) => onChange(event.target.checked ? 'yes' : '')}
          />
          {label}
        </label>
        <span className="dim">{note}</span>
      </div>
    );
  }
  return (
    <div>
      <label htmlFor={id}>
        {label} <span className="dim">{note}</span>
      </label>
      {choices ? (
        <select id={id} className="field" value={text} onChange={(event) => onChange(event.target.value)}>
          <option value="">as usual</option>
          {choices.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          className="field mono"
          type={kind === 'secret' ? 'password' : 'text'}
          autoComplete="off"
          {...(kind === 'number' && { inputMode: 'numeric' })}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </div>
  );
}
