/** A button that acts at once. It shows the ways to do the same without the console while it has the pointer or the focus. */
import { useId } from 'react';

export function Act(props: {
  label: string;
  command: string;
  request: string;
  onAct: () => unknown;
  isFirst?: boolean;
  isOff?: boolean;
}) {
  const { label, command, request, onAct, isFirst = false, isOff = false } = props;
  const id = useId();
  return (
    <span className="act-tip">
      <button
        type="button"
        className={isFirst ? 'button first' : 'button'}
        aria-describedby={id}
        disabled={isOff}
        onClick={() => void onAct()}
      >
        {label}
      </button>
      <span className="tip" role="tooltip" id={id}>
        <code>{command}</code>
        <code>{request}</code>
      </span>
    </span>
  );
}
