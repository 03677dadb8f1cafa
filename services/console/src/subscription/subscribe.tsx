/** A new subscription: who is notified, and of which events. */
import { useState, type FormEvent } from 'react';
import type { ShownSecret } from '../access/secret.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

/** Common wishes, in the patterns of types. */
const examples = ['stack.#', 'stack.*.failed', 'node.#', 'host.silent', 'deployment.failed', '#'];

const listOf = (text: string): string[] => text.split(/[\s,]+/).filter((each) => each !== '');

export function Subscribe({ onDone }: { onDone: (id: string, secret: ShownSecret | undefined) => void }) {
  const { client } = useSession();
  const change = useChange('subscriptions');
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [types, setTypes] = useState('stack.#');
  const wanted = listOf(types);
  const subscribe = (event: FormEvent): void => {
    event.preventDefault();
    void change(async () => {
      const { subscription, secret } = await client.subscriptions.create({ name, url, types: wanted });
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
      <div>
        <label htmlFor="subscription-types">
          Events <span className="dim">patterns of types: * is one word, # any number</span>
        </label>
        <input
          id="subscription-types"
          className="field mono"
          list="subscription-examples"
          value={types}
          onChange={(event) => setTypes(event.target.value)}
        />
        <datalist id="subscription-examples">
          {examples.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </div>
      <div className="row">
        <button type="submit" className="button first" disabled={name === '' || url === '' || wanted.length === 0}>
          Subscribe
        </button>
      </div>
      <Same
        command={`anneal subscription create ${quoted(url || 'URL')} --name ${quoted(name || 'NAME')}${wanted.map((each) => ` --type ${quoted(each)}`).join('')}`}
        request="POST /api/v1/subscriptions"
      />
    </form>
  );
}
