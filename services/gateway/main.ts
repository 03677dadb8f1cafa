import { runMain } from '@anneal/runtime/main.ts';
import { gatewayService } from './service.ts';

await runMain(gatewayService);
