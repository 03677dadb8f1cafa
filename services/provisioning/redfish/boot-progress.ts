/** The boot progress of a machine, as its BMC reports it. Pure. */
import type { Power } from '../nodes/document.ts';
import { powerIn } from './system.ts';

type Body = Readonly<Record<string, unknown>>;

export interface BootProgress {
  readonly power: Power | null;
  /** Changes whenever the machine makes progress. Empty when the BMC reports nothing. */
  readonly seen: string;
  /** True while the firmware tests and initialises the hardware. With much memory this state lasts many minutes. */
  readonly inPost: boolean;
}

const post = new Set([
  'PrimaryProcessorInitializationStarted',
  'BusInitializationStarted',
  'MemoryInitializationStarted',
  'SecondaryProcessorInitializationStarted',
  'PCIResourceConfigStarted',
]);

export function bootProgressIn(system: Body): BootProgress {
  const progress = system['BootProgress'];
  const { LastState, LastStateTime, OemLastState } = (
    typeof progress === 'object' && progress !== null ? progress : {}
  ) as Body;
  const state = typeof LastState === 'string' && LastState !== 'None' ? LastState : '';
  const parts = [state, LastStateTime, OemLastState].filter((part) => typeof part === 'string' && part !== '');
  return { power: powerIn(system), seen: state === '' ? '' : parts.join(' '), inPost: post.has(state) };
}
