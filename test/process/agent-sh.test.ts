/** The agent for machines with only a shell, with dash and curl, on this machine. */
import { agentKinds } from '../system/agents/adapters.ts';
import { agentConformance } from '../system/agents/conformance.ts';

agentConformance(agentKinds.dash);
