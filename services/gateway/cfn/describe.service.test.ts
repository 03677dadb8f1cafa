import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

it('a client whose signatures are refused again and again has to wait', async () => {
  const address = '/cfn/v1/?Action=DescribeStackResource&SignatureVersion=2&SignatureMethod=HmacSHA1';
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 21; attempt += 1) statuses.push((await gateway.call('GET', address)).status);
  expect(statuses).toEqual(statuses.map(() => 401));
  const refused = await gateway.call('GET', address);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(refused.text).toContain('<Code>Throttling</Code>');
});
