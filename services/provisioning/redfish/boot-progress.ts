/** The boot progress of a machine, as its BMC reports it. Pure. */
import type { BootProgress } from '../bmc/port.ts';
import { powerIn } from './system.ts';

type Body = Readonly<Record<string, unknown>>;

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
