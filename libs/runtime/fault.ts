/**
 * Named fault points: places between two lines that persist and send, where a test may wait, throw or kill the process.
 * They do nothing unless armed: by `ANNEAL_FAULT=<name>:<kill|throw>[:<nth time>]` for a whole process, or by
 * `armFault` within one.
 */
type Fault = () => Promise<void> | void;

const armed = new Map<string, Fault>();

/** Does nothing unless a test or `ANNEAL_FAULT` armed the point: then it throws, waits or kills the process. */
export async function faultPoint(name: string): Promise<void> {
  if (armed.size === 0) return;
  await armed.get(name)?.();
}

/** Returns the function that disarms it. */
export function armFault(name: string, fault: Fault): () => void {
  armed.set(name, fault);
  return () => armed.delete(name);
}

/** Disarms every point. */
export const disarmFaults = (): void => armed.clear();

/** @throws Error for a text that is not `<name>:<kill|throw>[:<nth>]`. */
export function armFromText(text: string): void {
  const [name, what, nth = '1'] = text.split(':');
  if (!name || (what !== 'kill' && what !== 'throw') || !/^\d+$/.test(nth)) {
    throw new Error(`ANNEAL_FAULT must be <name>:<kill|throw>[:<nth time>], not ${text}`);
  }
  let left = Number(nth);
  armFault(name, () => {
    left -= 1;
    if (left !== 0) return;
    if (what === 'kill') process.kill(process.pid, 'SIGKILL');
    throw new Error(`fault ${name}`);
  });
}
