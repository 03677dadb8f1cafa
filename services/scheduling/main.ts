import { runMain } from '@anneal/runtime/service/main.ts';
import { schedulingService } from './service.ts';

await runMain(schedulingService);
