/** The ways to do the same without the console: the command, and the request to the API. */
import { CopyCommand } from './command.tsx';

export function Same({ command, request }: { command: string; request: string }) {
  return (
    <div className="row wrap dim wraps">
      The same in a terminal: <CopyCommand command={command} />
      <span>
        and in the API: <code>{request}</code>
      </span>
    </div>
  );
}
