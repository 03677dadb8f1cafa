/** The agent for hosts with only a shell, as the gateway serves it. */
import { createHash } from 'node:crypto';
import { shellText } from '../scripts/text.ts';

export const agentText = shellText.agent.replace('# {send}\n', () => shellText.send);
export const agentChecksum = createHash('sha256').update(agentText).digest('hex');

/** Replaces an agent. Its last line calls it, so that an incomplete script does nothing. */
export const updateText = `${shellText.send}${shellText.fetch}${shellText.update}{ anneal_update "$@"; }\n`;
