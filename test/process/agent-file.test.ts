/** The agent as one file, on this machine. */
import { agentKinds } from '../system/agents/adapters.ts';
import { agentConformance } from '../system/agents/conformance.ts';

agentConformance(agentKinds.file);
