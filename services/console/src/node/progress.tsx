/** How far a machine is with its disk: a bar, the bytes, the rate and the time left. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { percentOf, phaseText, progressText, type NodeProgress } from '@anneal/contracts/node-progress.ts';
import { Age } from '../parts/time.tsx';

export function MachineProgress({ node: { progress } }: { node: NodeRepresentation }) {
  if (!progress) return null;
  return (
    <section className="card" aria-label="Progress">
      <header>
        <h2>Progress</h2>
        <span className="more">
          reported <Age since={progress.at} /> ago
        </span>
      </header>
      <div className="body">
        <ProgressLine progress={progress} />
      </div>
    </section>
  );
}

export function ProgressLine({ progress }: { progress: NodeProgress }) {
  const phase = phaseText(progress);
  return (
    <div className="stackwise">
      <progress className="progress" aria-label={phase} max={100} value={percentOf(progress)} />
      <span className={progress.problem === null ? undefined : 'tone-failed'}>
        {phase}: {progressText(progress)}
      </span>
    </div>
  );
}
