import { runMain } from '@anneal/runtime/service/main.ts';
import { identityService } from './service.ts';

await runMain(identityService);
