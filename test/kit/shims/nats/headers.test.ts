import { expect, test } from 'vitest';
import { headersFrom } from '../../../../src/kit/shims/nats/headers.ts';
import { connected } from '../../../engine/log/fresh-log.ts';

test('headersFrom goes over the wire as the lines that it was made of', async () => {
  const nc = await connected();
  const subject = `test.${crypto.randomUUID()}`;
  const subscription = nc.subscribe(subject, { max: 1 });
  nc.publish(subject, 'body', { headers: headersFrom('Nats-Msg-Id: one\r\nOther: two words\r\n') });
  for await (const message of subscription) {
    expect(message.string()).toBe('body');
    expect(message.headers?.get('Nats-Msg-Id')).toBe('one');
    expect(message.headers?.get('Other')).toBe('two words');
    expect(message.headers?.keys()).toHaveLength(2);
  }
});
