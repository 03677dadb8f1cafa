import type { Envelope } from '@anneal/contracts/envelope.ts';
import { describe, expect, it } from 'vitest';
import { amqpHeaders, heatMessage, renderEvents, textHeaders } from './rendering.ts';

const event: Envelope = {
  specversion: '1.0',
  id: 'e1',
  type: 'resource.create.failed',
  source: 'anneal/scheduling',
  subject: 's "ä" 1%',
  time: '2030-01-02T03:04:05.678Z',
  datacontenttype: 'application/json',
  correlationid: 'c1',
  data: {
    stack_id: 's1',
    stack_name: 'web',
    resource_name: 'server',
    resource_type: 'OS::Nova::Server',
    physical_id: 'n1',
    action: 'CREATE',
    status: 'FAILED',
    reason: 'no node',
  },
};
const render = (mode: 'structured' | 'binary', isBatch = false, format: 'cloudevents' | 'heat' = 'cloudevents') =>
  renderEvents({ events: [event], textOf: JSON.stringify, isBatch }, { format, mode });

describe('events as messages', () => {
  it('are CloudEvents, structured, as a batch, or binary with encoded attributes', () => {
    expect(JSON.parse(render('structured').body)).toEqual(event);
    expect(JSON.parse(render('structured', true).body)).toEqual([event]);
    expect(render('structured', true).contentType).toContain('batch+json');
    const binary = render('binary');
    expect(JSON.parse(binary.body)).toEqual(event.data);
    expect(textHeaders(binary)).toEqual({
      'ce-specversion': '1.0',
      'ce-id': 'e1',
      'ce-type': 'resource.create.failed',
      'ce-source': 'anneal/scheduling',
      'ce-subject': 's%20%22%C3%A4%22%201%25',
      'ce-time': '2030-01-02T03:04:05.678Z',
      'ce-correlationid': 'c1',
    });
    expect(amqpHeaders(binary)).toMatchObject({ cloudEvents_subject: 's "ä" 1%' });
    expect(textHeaders(render('structured'))).toEqual({});
  });

  it('are the messages of the event sinks of Heat', () => {
    expect(JSON.parse(render('structured', false, 'heat').body)).toEqual({
      timestamp: '2030-01-02T03:04:05Z',
      version: '0.1',
      type: 'os.heat.event',
      id: 'e1',
      payload: {
        resource_name: 'server',
        physical_resource_id: 'n1',
        stack_id: 's1',
        resource_action: 'CREATE',
        resource_status: 'FAILED',
        resource_status_reason: 'no node',
        resource_type: 'OS::Nova::Server',
        resource_properties: null,
        version: '0.1',
      },
    });
    expect(heatMessage({ ...event, type: 'stack.create.failed' })).toMatchObject({
      payload: { resource_name: 'web', physical_resource_id: 's1', resource_type: 'OS::Heat::Stack' },
    });
  });
});
