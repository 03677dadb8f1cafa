import { runMain } from '@anneal/runtime/service/main.ts';
import { configurationService } from './service.ts';

await runMain(configurationService);
