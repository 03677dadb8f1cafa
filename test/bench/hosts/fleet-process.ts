/** A process with many emulated hosts. The parent starts them over IPC and asks for what they saw. It ends when the parent ends. */
import { EmulatedHost, type FleetTally, type StepSample } from './emulated-host.ts';
import type { BenchHost } from './server-process.ts';

export type FleetQuestion =
  | {
      readonly kind: 'start';
      readonly url: string;
      readonly project: string;
      readonly hosts: readonly BenchHost[];
      readonly waitSeconds?: number;
    }
  /** Answered when so many hosts have said hello. */
  | { readonly kind: 'await'; readonly hellos: number }
  | { readonly kind: 'take' };

export interface FleetSeen {
  readonly samples: readonly StepSample[];
  readonly calls: number;
  readonly refused: number;
  readonly bytes: number;
}
export type FleetAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'reached' }
  | ({ readonly kind: 'seen' } & FleetSeen);

const tell = (answer: FleetAnswer): void => void process.send?.(answer);
const stopping = new AbortController();
const tally: FleetTally = {
  hellos: 0,
  calls: 0,
  refused: 0,
  samples: [],
  sockets: new Set(),
  bytes: 0,
  onChange: () => undefined,
};
let before = { calls: 0, refused: 0, bytes: 0 };

function take(): FleetSeen {
  const { calls, refused } = tally;
  const bytes = [...tally.sockets].reduce((sum, socket) => sum + socket.bytesRead + socket.bytesWritten, tally.bytes);
  const seen = {
    samples: tally.samples.splice(0),
    calls: calls - before.calls,
    refused: refused - before.refused,
    bytes: bytes - before.bytes,
  };
  before = { calls, refused, bytes };
  return seen;
}

process.once('disconnect', () => {
  stopping.abort();
  process.exit();
});
process.on('message', (question: FleetQuestion) => {
  if (question.kind === 'start') {
    const { url, project, waitSeconds = 240 } = question;
    for (const host of question.hosts)
      void new EmulatedHost({ url, project, waitSeconds, ...host, signal: stopping.signal, tally }).run();
  } else if (question.kind === 'take') tell({ kind: 'seen', ...take() });
  else {
    const { hellos } = question;
    tally.onChange = () => {
      if (tally.hellos < hellos) return;
      tally.onChange = () => undefined;
      tell({ kind: 'reached' });
    };
    tally.onChange();
  }
});
tell({ kind: 'ready' });
