import { runMain } from '@anneal/runtime/main.ts';
import { schedulingService } from './service.ts';

await runMain(schedulingService);
