import { runMain } from '@anneal/runtime/service/main.ts';
import { provisioningService } from './service.ts';

await runMain(provisioningService);
