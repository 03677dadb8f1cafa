/** The test that sees each metric change. */
import { busMetrics } from '@anneal/runtime/observe/instrument.ts';
import { queueMetrics } from '@anneal/runtime/observe/queue-metrics.ts';
import { serviceMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import { clockMetrics } from '@anneal/runtime/time/machine-clock.ts';
import { expectWitnesses, names } from './witnesses.ts';

const metrics = { ...busMetrics, ...queueMetrics, ...serviceMetrics, ...clockMetrics };

expectWitnesses('metric', {
  members: Object.values(metrics).map(({ name }) => name),
  witnesses: {
    'libs/runtime/observe/queue-metrics.service.test.ts': Object.values(queueMetrics).map(({ name }) => name),
    'test/e2e/metrics.test.ts': [
      'anneal_clock_skew_seconds',
      'anneal_deployments',
      'anneal_event_backlog',
      'anneal_event_backlog_age_seconds',
      'anneal_event_delivery_seconds',
      'anneal_executions',
      'anneal_hosts',
      'anneal_http_request_seconds',
      'anneal_message_handling_seconds',
      'anneal_messages_sent_total',
      'anneal_nodes',
      'anneal_nodes_faulty',
      'anneal_queue_taken_over_total',
      'anneal_resources',
      'anneal_stacks',
      'anneal_store_call_seconds',
    ],
    'test/system/provisioning/sensors.test.ts': ['anneal_node_sensor', 'anneal_node_sensor_alarm'],
  },
  isNamed: (name, text) => names(text, name),
});
