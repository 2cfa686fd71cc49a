import { expect, it, onTestFinished, vi } from 'vitest';
import { createSender, type HookSender } from '../../../src/edges/hooks/sender.ts';
import { parseConfig } from '../../../src/config.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const origin = 'annals.example.org';
const never = new AbortController().signal;
const message = { headers: {}, body: Buffer.from('{}') };

function senderWith(options: { needsConsent?: boolean } = {}): HookSender {
  const sender = createSender({ allowPrivate: true, version: 'test', withinMs: 500, ...options });
  onTestFinished(() => sender.close());
  return sender;
}

const allow = (receiver: Receiver, allowed: string, rate?: string): void =>
  receiver.consent(() => ({
    status: 200,
    headers: { 'webhook-allowed-origin': allowed, ...(rate !== undefined && { 'webhook-allowed-rate': rate }) },
  }));

async function deliver(sender: HookSender, { url }: Receiver) {
  return (await sender.admit({ url, origin }, never)) ?? (await sender.send({ ...message, url }, never));
}

it('asks a receiver once, by the name of the sender, which each delivery then carries', async () => {
  const receiver = await startReceiver();
  allow(receiver, origin, '*');
  const sender = senderWith();
  const sent = await Promise.all(Array.from({ length: 8 }, () => deliver(sender, receiver)));
  expect(sent.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 8 }, () => 'acknowledged'));
  expect(receiver.asked.map((headers) => headers['webhook-request-origin'])).toEqual([origin]);
  expect(new Set(receiver.received.map(({ headers }) => headers['origin']))).toEqual(new Set([origin]));
});

it('sends no faster than a receiver allows', async () => {
  const receiver = await startReceiver();
  allow(receiver, '*', '300');
  const sender = senderWith();
  const began = Date.now();
  await Promise.all(Array.from({ length: 4 }, () => deliver(sender, receiver)));
  expect(Date.now() - began).toBeGreaterThanOrEqual(3 * 200);
});

it('keeps the pace of a receiver when the clock is put back', async () => {
  const receiver = await startReceiver();
  allow(receiver, '*', '300');
  const sender = senderWith();
  await deliver(sender, receiver);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await deliver(sender, receiver)).toMatchObject({ outcome: 'acknowledged' });
});

it('sends nothing to a receiver that expects somebody else, and asks again with the next attempt', async () => {
  const receiver = await startReceiver();
  allow(receiver, 'other.example.org');
  const sender = senderWith();
  expect(await deliver(sender, receiver)).toMatchObject({
    outcome: 'failed',
    reason: 'the receiver expects events of other.example.org, not of annals.example.org',
  });
  allow(receiver, '*', '0');
  expect(await deliver(sender, receiver)).toMatchObject({ reason: expect.stringContaining('allows no delivery') });
  expect(receiver.received).toEqual([]);
  allow(receiver, 'ANNALS.example.org');
  expect(await deliver(sender, receiver)).toMatchObject({ outcome: 'acknowledged' });
});

it('sends without consent to a receiver that knows nothing of it, unless consent is required', async () => {
  const receiver = await startReceiver();
  expect(await deliver(senderWith(), receiver)).toMatchObject({ outcome: 'acknowledged' });
  expect(receiver.received[0]?.headers).not.toHaveProperty('origin');
  const strict = senderWith({ needsConsent: true });
  expect(await deliver(strict, receiver)).toMatchObject({
    reason: 'the receiver does not agree to be sent events: it answered OPTIONS without WebHook-Allowed-Origin',
  });
  receiver.consent(() => undefined);
  expect(await deliver(strict, receiver)).toMatchObject({ reason: expect.stringContaining('did not answer OPTIONS') });
  expect(receiver.received).toHaveLength(1);
  allow(receiver, '*');
  expect(await deliver(strict, receiver)).toMatchObject({ outcome: 'acknowledged' });
});

it('asks again after a delivery that failed', async () => {
  const receiver = await startReceiver();
  allow(receiver, '*');
  const sender = senderWith();
  receiver.answer(() => ({ status: 500 }));
  expect(await deliver(sender, receiver)).toMatchObject({ status: 500 });
  allow(receiver, 'other.example.org');
  expect(await deliver(sender, receiver)).toMatchObject({ reason: expect.stringContaining('other.example.org') });
  expect(receiver.asked).toHaveLength(2);
});

it('takes names alone as its own', () => {
  expect(parseConfig({ HOOK_ORIGIN: 'annals.example.org' }).hookOrigin).toBe('annals.example.org');
  expect(() => parseConfig({ HOOK_ORIGIN: 'a\r\nb' })).toThrow('HOOK_ORIGIN');
});
