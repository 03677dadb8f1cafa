/** States: a shape, a word and a hue, so that no reader depends on the hue. */
import { toneOf, type Tone } from '@anneal/client/text/tone.ts';

/** `CREATE_IN_PROGRESS` as `Create in progress`. */
export const wordsOf = (state: string): string => {
  if (state.startsWith('INIT')) return 'Not started';
  const words = state.toLowerCase().replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
};

const shapes: Readonly<Record<Tone, React.ReactNode>> = {
  done: (
    <>
      <circle cx="7" cy="7" r="7" fill="currentColor" />
      <path d="M4 7.2 6.2 9.4 10.2 5" fill="none" stroke="var(--panel)" strokeWidth="1.6" />
    </>
  ),
  busy: (
    <>
      <circle cx="7" cy="7" r="5.6" fill="none" stroke="currentColor" strokeWidth="1.8" opacity="0.3" />
      <path d="M7 1.4a5.6 5.6 0 0 1 5.6 5.6" fill="none" stroke="currentColor" strokeWidth="1.8" />
    </>
  ),
  wait: (
    <>
      <path d="M7 0 14 7 7 14 0 7Z" fill="currentColor" />
      <path d="M7 3.8v3.6M7 9.6v.6" stroke="var(--panel)" strokeWidth="1.6" />
    </>
  ),
  failed: (
    <>
      <path d="M4.1 0h5.8L14 4.1v5.8L9.9 14H4.1L0 9.9V4.1Z" fill="currentColor" />
      <path d="m4.8 4.8 4.4 4.4m0-4.4L4.8 9.2" stroke="var(--panel)" strokeWidth="1.6" />
    </>
  ),
  idle: <circle cx="7" cy="7" r="5.6" fill="none" stroke="currentColor" strokeWidth="1.6" strokeDasharray="2.2 2.2" />,
};

export function Mark({ tone, label }: { tone: Tone; label?: string }) {
  return (
    <svg
      className={`mark tone-${tone} ${tone === 'busy' ? 'turning' : ''}`}
      viewBox="0 0 14 14"
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {shapes[tone]}
    </svg>
  );
}

/** A state in a heading: everything is said. */
export function StatePill({ state, tone = toneOf(state) }: { state: string; tone?: Tone }) {
  return (
    <span className={`pill tone-${tone}`}>
      <Mark tone={tone} />
      {wordsOf(state)}
    </span>
  );
}

/** What is normal. */
export const QuietMark = () => (
  <svg className="mark tone-idle" viewBox="0 0 14 14" aria-hidden="true">
    <circle cx="7" cy="7" r="3" fill="currentColor" opacity="0.55" />
  </svg>
);

/** A state in a list: what is normal stays quiet, so that the rest is seen. */
export function StateWord({ state, tone = toneOf(state) }: { state: string; tone?: Tone }) {
  return (
    <span className="row">
      {tone === 'done' ? <QuietMark /> : <Mark tone={tone} />}
      <span className={tone === 'done' || tone === 'idle' ? 'dim' : `tone-${tone}`}>{wordsOf(state)}</span>
    </span>
  );
}
