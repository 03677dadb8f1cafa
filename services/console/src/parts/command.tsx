/** The command that does the same in a terminal. A click copies it. */
import { copyText } from './copy-text.ts';
import { useNotify } from './notices.tsx';

export function CopyCommand({ command }: { command: string }) {
  const { attempt } = useNotify();
  return (
    <button
      type="button"
      className="command"
      title="Copy"
      onClick={() => void attempt(() => copyText(command), `Copied: ${command}`)}
    >
      <span className="cut">{command}</span>
      <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />
      </svg>
    </button>
  );
}

/** A place without objects: one sentence, and the next command. */
export function Empty({ children, command }: { children: React.ReactNode; command?: string }) {
  return (
    <div className="empty">
      <p>{children}</p>
      {command !== undefined && <CopyCommand command={command} />}
    </div>
  );
}
