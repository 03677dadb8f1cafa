/** The test that sees what another value of each setting does. */
import { configurationService } from '@anneal/configuration/service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { identityService } from '@anneal/identity/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import type { SettingDefinitions } from '@anneal/runtime/service/settings.ts';
import { sharedSettings } from '@anneal/runtime/service/shared-settings.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { expectWitnesses, names } from './witnesses.ts';

const groups: readonly SettingDefinitions[] = [
  sharedSettings,
  configurationService.settings,
  gatewayService.settings,
  identityService.settings,
  notificationService.settings,
  provisioningService.settings,
  schedulingService.settings,
  templatingService.settings,
];
const prefix = 'ANNEAL_';
/** The key of each setting in the code, by its name without the prefix. */
const keys = new Map(
  groups.flatMap((group) => Object.entries(group).map(([key, { env }]) => [env.slice(prefix.length), key] as const)),
);

expectWitnesses('setting', {
  members: [...keys.keys()],
  witnesses: {
    'libs/runtime/service/claim-check-setting.service.test.ts': ['CLAIM_CHECK_SECONDS'],
    'libs/runtime/service/data-folder.service.test.ts': ['KEYS'],
    'libs/runtime/service/serve.service.test.ts': [
      'EVALUATION_WORK',
      'STOP_SECONDS',
      'YAQL_LIMIT_ITERATORS',
      'YAQL_MEMORY_QUOTA',
    ],
    'services/configuration/busy.service.test.ts': ['CONFIGURATION_CONCURRENCY'],
    'services/configuration/output/output.service.test.ts': ['CONFIGURATION_OUTPUT_BYTES'],
    'services/configuration/queues/limits.service.test.ts': [
      'CONFIGURATION_PROJECT_HOSTS',
      'CONFIGURATION_PROJECT_QUEUES',
      'CONFIGURATION_QUEUE_BYTES',
      'CONFIGURATION_QUEUE_MESSAGES',
    ],
    'services/configuration/queues/queue.service.test.ts': ['CONFIGURATION_POST_BYTES'],
    'services/configuration/settings.service.test.ts': [
      'CONFIGURATION_DEAD_LETTER_SECONDS',
      'CONFIGURATION_DEPLOYMENT_SECONDS',
      'CONFIGURATION_CONTEXT_DELETED_SECONDS',
      'CONFIGURATION_CONTEXT_SETTLE_SECONDS',
      'CONFIGURATION_POP_LEASE_SECONDS',
      'CONFIGURATION_JOIN_SECONDS',
      'CONFIGURATION_OUTPUT_KEEP_SECONDS',
      'CONFIGURATION_QUEUE_SECONDS',
      'CONFIGURATION_RESPONSE_KEEP_SECONDS',
      'CONFIGURATION_RUN_KEEP_SECONDS',
      'CONFIGURATION_SILENT_SECONDS',
    ],
    'services/gateway/api/api.service.test.ts': ['GATEWAY_HEARTBEAT_MS', 'GATEWAY_MAX_STREAMS'],
    'services/gateway/api/session.service.test.ts': ['GATEWAY_TRUSTED_PROXIES'],
    'services/gateway/boot/ramdisk.service.test.ts': ['GATEWAY_RAMDISK'],
    'services/gateway/heat/heat.service.test.ts': [
      'GATEWAY_ANSWER_TIMEOUT_MS',
      'GATEWAY_COMPILE_TIMEOUT_MS',
      'GATEWAY_HIDDEN_STACK_TAGS',
    ],
    'services/gateway/http/origins.service.test.ts': ['GATEWAY_ALLOWED_ORIGINS'],
    'services/gateway/http/problem.service.test.ts': ['GATEWAY_BODY_LIMIT', 'GATEWAY_CONFIG_LIMIT'],
    'services/gateway/http/request-rates.service.test.ts': ['GATEWAY_USER_REQUESTS'],
    'services/gateway/http/requests-in-progress.service.test.ts': ['GATEWAY_USER_CONCURRENCY'],
    'services/gateway/identity/audit.service.test.ts': ['GATEWAY_AUDIT'],
    'services/gateway/identity/keystone.service.test.ts': ['GATEWAY_ADMIN_PASSWORD', 'GATEWAY_TOKEN_HOURS'],
    'services/gateway/zaqar/limits.service.test.ts': [
      'GATEWAY_CLAIM_SECONDS',
      'GATEWAY_MESSAGE_SECONDS',
      'GATEWAY_QUEUE_PAGE',
      'GATEWAY_QUEUE_POP',
    ],
    'services/gateway/zaqar/zaqar.service.test.ts': ['GATEWAY_HOST_WAIT_SECONDS', 'GATEWAY_MAX_WAIT_SECONDS'],
    'services/notification/dead-letter.service.test.ts': ['NOTIFICATION_RETRY_SECONDS'],
    'services/notification/delivery/flow.service.test.ts': ['NOTIFICATION_IN_FLIGHT'],
    'services/notification/measuring/alarms/alarms.service.test.ts': [
      'NOTIFICATION_ALARM_SECONDS',
      'NOTIFICATION_MAX_ALARMS',
      'NOTIFICATION_MEASUREMENT_PERIOD_SECONDS',
      'NOTIFICATION_PROMETHEUS_URL',
    ],
    'services/notification/measuring/metrics/metrics.service.test.ts': [
      'NOTIFICATION_KEEP_HOURLY_SECONDS',
      'NOTIFICATION_KEEP_MEASUREMENTS_SECONDS',
      'NOTIFICATION_MAX_SERIES',
    ],
    'services/notification/notification.service.test.ts': [
      'NOTIFICATION_ALLOW_PRIVATE',
      'NOTIFICATION_KEEP_EVENTS',
      'NOTIFICATION_KEEP_SECONDS',
    ],
    'services/notification/settings.service.test.ts': [
      'NOTIFICATION_KEEP_DELIVERIES',
      'NOTIFICATION_MAX_SUBSCRIPTIONS',
      'NOTIFICATION_PENDING_DELIVERIES',
      'NOTIFICATION_TIMEOUT_MS',
    ],
    'services/notification/sinks/mail.service.test.ts': [
      'NOTIFICATION_MAIL_DOMAINS',
      'NOTIFICATION_MAIL_FROM',
      'NOTIFICATION_SMTP_URL',
    ],
    'services/notification/subscriptions/confirmation.service.test.ts': ['NOTIFICATION_CONFIRM'],
    'services/scheduling/garbage.service.test.ts': ['SCHEDULING_GARBAGE_SECONDS'],
    'services/scheduling/limiter/limiter.service.test.ts': [
      'SCHEDULING_PROJECT_REQUESTS',
      'SCHEDULING_PROVIDER_REQUESTS',
    ],
    'services/scheduling/plans/quota.service.test.ts': [
      'SCHEDULING_PROJECT_BYTES',
      'SCHEDULING_PROJECT_RESOURCES',
      'SCHEDULING_PROJECT_STACKS',
    ],
    'services/scheduling/revisions.service.test.ts': ['SCHEDULING_REVISIONS'],
    'services/scheduling/settings.service.test.ts': [
      'SCHEDULING_BATCH',
      'SCHEDULING_CACHED_STACKS',
      'SCHEDULING_EVALUATE_SECONDS',
      'SCHEDULING_ROUTE_SECONDS',
      'SCHEDULING_WAITING',
      'SCHEDULING_WORKER_MEMORY_MIB',
    ],
    'services/scheduling/shard-map/shards.service.test.ts': ['SCHEDULING_SHARDS'],
    'services/scheduling/size.service.test.ts': ['SCHEDULING_VALUE_BYTES'],
    'services/scheduling/workflows/workflows.service.test.ts': [
      'SCHEDULING_ALLOW_PRIVATE',
      'SCHEDULING_PROJECT_EXECUTIONS',
    ],
    'services/templating/settings.service.test.ts': [
      'TEMPLATING_COMPILE_SECONDS',
      'TEMPLATING_CONCURRENCY',
      'TEMPLATING_MAX_DEPTH',
      'TEMPLATING_MAX_RESOURCES',
      'TEMPLATING_WAITING',
      'TEMPLATING_WORKERS',
      'TEMPLATING_WORKER_MEMORY_MIB',
    ],
    'test/agents/join.test.ts': ['GATEWAY_AGENTS'],
    'test/chaos/placement.test.ts': ['FAULT'],
    'test/e2e/commands.test.ts': ['GATEWAY_METADATA_TOKENS'],
    'test/e2e/console/upgrade.test.ts': ['GATEWAY_CONSOLE'],
    'test/process/process-settings.test.ts': ['HEALTH_HOST', 'HEALTH_PORT', 'LOG_FORMAT', 'LOG_LEVEL'],
    'test/programs/cloud-init/metadata.test.ts': ['GATEWAY_METADATA_NETWORKS'],
    'test/programs/traces.test.ts': ['OTLP_ENDPOINT'],
    'test/system/agents/broker-rights.test.ts': ['CONFIGURATION_HOST_BROKER_ADDRESS'],
    'test/system/agents/broker-world.ts': [
      'CONFIGURATION_HOST_BROKER_ADMIN_URL',
      'CONFIGURATION_HOST_BROKER_KEY',
      'CONFIGURATION_HOST_BROKER_URL',
    ],
    'test/system/oidc.test.ts': [
      'GATEWAY_OIDC_AUDIENCE',
      'GATEWAY_OIDC_CLIENT_ID',
      'GATEWAY_OIDC_CLIENT_SECRET',
      'GATEWAY_OIDC_GROUPS_CLAIM',
      'GATEWAY_OIDC_ISSUER',
      'GATEWAY_OIDC_NAME',
      'GATEWAY_OIDC_NAME_CLAIM',
      'GATEWAY_OIDC_ROLES',
      'GATEWAY_OIDC_SCOPES',
      'GATEWAY_OIDC_USERS',
    ],
    'test/system/process-settings.test.ts': [
      'BUS_URL',
      'DATA',
      'GATEWAY_HOST',
      'GATEWAY_IMAGES',
      'GATEWAY_IMAGE_LIMIT',
      'GATEWAY_PORT',
      'GATEWAY_REGION',
      'GATEWAY_URL',
      'STORE_URL',
    ],
    'test/system/provisioning/another-node.test.ts': ['PROVISIONING_DEPLOY_ATTEMPTS', 'PROVISIONING_FENCE_PROGRAM'],
    'test/system/provisioning/boot-exchange.test.ts': ['PROVISIONING_BOOT_LOAD_SECONDS'],
    'test/system/provisioning/declared.test.ts': ['PROVISIONING_TEST_DRIVER'],
    'test/system/provisioning/provisioning.test.ts': ['PROVISIONING_NODES'],
    'test/system/provisioning/progress.test.ts': ['PROVISIONING_STALL_SECONDS', 'PROVISIONING_TOTAL_SECONDS'],
    'test/system/provisioning/sensors.test.ts': ['PROVISIONING_POWER_POLL_SECONDS', 'PROVISIONING_SENSOR_SECONDS'],
    'test/system/provisioning/suspect.test.ts': ['PROVISIONING_LOSSES_A_DAY'],
    'test/system/provisioning/settings.test.ts': [
      'PROVISIONING_BMC_EVENTS',
      'PROVISIONING_BOOT_RETRY_SECONDS',
      'PROVISIONING_BOOT_SECONDS',
      'PROVISIONING_STEPS_SECONDS',
      'PROVISIONING_CLEAN_SECONDS',
      'PROVISIONING_BMC_SECONDS',
      'PROVISIONING_CLEANS',
      'PROVISIONING_CLEAN_ON_PROVIDE',
      'PROVISIONING_ERASE',
      'PROVISIONING_FLAVORS',
      'PROVISIONING_IMAGES',
      'PROVISIONING_PLACEHOLDER_IDS',
      'PROVISIONING_VERIFY_CA',
    ],
    'test/system/provisioning/slots.test.ts': ['PROVISIONING_DEPLOYS', 'PROVISIONING_ERASES'],
    'test/system/settings.test.ts': [
      'NOTIFICATION_MAX_CREDENTIALS',
      'SCHEDULING_DELETE_GRACE_SECONDS',
      'SCHEDULING_KEEP_EXECUTIONS_SECONDS',
      'SCHEDULING_RESOURCE_BYTES',
      'SCHEDULING_STACK_BYTES',
      'SCHEDULING_STACK_REQUESTS',
    ],
  },
  // By the whole name, by the name within its service as a key or in a title, or by its key in the code.
  isNamed: (name, text) =>
    names(text, `${prefix}${name}`) ||
    [name.replace(/^[A-Z]+_/, ''), keys.get(name) ?? name].some((word) => new RegExp(`\\b${word}\\b[:, ]`).test(text)),
});
