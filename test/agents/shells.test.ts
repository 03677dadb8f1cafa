/** The agent for machines with only a shell, with further shells. `process/agent-sh.test.ts` has the first one. */
import { agentKinds } from '../system/agents/adapters.ts';
import { agentConformance } from '../system/agents/conformance.ts';

agentConformance(agentKinds.bash);
agentConformance(agentKinds.busybox);
