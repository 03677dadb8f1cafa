import { runMain } from '@anneal/runtime/service/main.ts';
import { gatewayService } from './service.ts';

await runMain(gatewayService);
