/** `options.reboot` of a config: whether its host reboots for it. Agents, the server and templates read it alike. */
import { numberOf } from './exact-number.ts';
import type { Json, JsonObject } from './json.ts';

/** The values of the option. */
const rebootChoices = ['after', 'allowed', 'on status 194'] as const;
type RebootChoice = (typeof rebootChoices)[number];

/** The exit status with which a config asks for a reboot, with `on status 194`. */
export const rebootStatus = 194;
/** The most reboots of a host for one run of a config. */
export const mostReboots = 3;
/** The page that describes the option, for messages. */
export const rebootPage = 'docs/tasks/reboot-a-host.md';

const usualSeconds = 1800;
const mostSeconds = 86_400;

/** The choice of a config. Undefined without the option, and for a value that {@link rebootProblem} refuses. */
export const rebootOf = ({ reboot }: JsonObject): RebootChoice | undefined =>
  rebootChoices.find((each) => each === reboot);

/** How long a host may take from the order to reboot until its agent is back: `options.reboot_timeout`. */
export function rebootLimitMs({ reboot_timeout: given }: JsonObject): number {
  const seconds = typeof given === 'string' ? Number(given) : numberOf(given);
  return (seconds !== undefined && seconds > 0 && seconds <= mostSeconds ? seconds : usualSeconds) * 1000;
}

/** Why a value of the option is not valid. Undefined for a valid one, and without the option. */
export function rebootProblem(value: Json | undefined): string | undefined {
  if (value === undefined || value === null || rebootChoices.some((each) => each === value)) return undefined;
  return `must be one of ${rebootChoices.map((each) => `"${each}"`).join(', ')}`;
}
