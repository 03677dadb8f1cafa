import { expect, it } from 'vitest';
import { withCfnPrefix } from './family.ts';

it('sends signed requests at /v1/ to the endpoint of CloudFormation, and leaves all others', () => {
  expect(withCfnPrefix('/v1/?Action=DescribeStackResource')).toBe('/cfn/v1/?Action=DescribeStackResource');
  expect(withCfnPrefix('/v1?a=1&Action=PutMetricData')).toBe('/cfn/v1?a=1&Action=PutMetricData');
  for (const url of ['/v1/', '/v1/queues?Action=a', '/v1/?marker=Action', '/cfn/v1/?Action=a', '/v1/?XAction=a'])
    expect(withCfnPrefix(url)).toBe(url);
  expect(withCfnPrefix('/v1/', 'POST')).toBe('/cfn/v1/');
  expect(withCfnPrefix('/v1/queues', 'POST')).toBe('/v1/queues');
});
