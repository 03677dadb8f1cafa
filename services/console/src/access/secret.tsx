/** Secrets that the page shows once: new passwords, and the secrets of tokens. */
import { CopyCommand } from '../parts/command.tsx';

export interface ShownSecret {
  readonly title: string;
  /** The values by name. */
  readonly values: Readonly<Record<string, string>>;
}

/** A password of 144 random bits. */
export function newPassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

export function SecretOnce({ secret, close }: { secret: ShownSecret; close: () => void }) {
  return (
    <section className="why tone-wait" aria-label={secret.title}>
      <p>
        <b>{secret.title}</b> Store it now: it is not shown again.
      </p>
      <dl className="facts">
        {Object.entries(secret.values).map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>
              <CopyCommand command={value} />
            </dd>
          </div>
        ))}
      </dl>
      <p>
        <button type="button" className="button" onClick={close}>
          I have stored it
        </button>
      </p>
    </section>
  );
}
