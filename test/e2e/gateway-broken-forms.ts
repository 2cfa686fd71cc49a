import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { expect } from 'vitest';
import { type Random, seeded } from '../support/random-history.ts';
import { until } from '../support/polling.ts';
import { type Registered, registered } from './gateway-client.ts';

const boundary = 'of-the-broken-forms';
const atOnce = 6;

/**
 * Sends forms that are broken in every way: cut, doubled, with bytes changed, parts left out, wrong headers, cut
 * connections. None is answered with 5xx, and no file is left over.
 *
 * The file in them is not the one that was registered, so that none of them can begin a task.
 */
export async function expectBrokenFormsRefused(gateway: string, folder: string, count: number): Promise<void> {
  const file = { ...(await registered(gateway, 'never sent whole.bin')), bytes: Buffer.alloc(3000, 'x') };
  const random = seeded(20);
  const statuses = new Map<number, number>();
  for (let sent = 0; sent < count; sent += atOnce) {
    const requests = Array.from({ length: atOnce }, () => brokenRequest(file, random));
    for (const status of await Promise.all(requests.map((request) => exchange(gateway, request))))
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  const told = [...statuses.keys()].toSorted((a, b) => a - b);
  expect(told.filter((status) => status >= 500 || (status >= 200 && status < 300))).toEqual([]);
  expect(told).toContain(400);
  await until('nothing is left of them', () => readdirSync(path.join(folder, 'transfers/incoming')).length === 0);
  expect((await fetch(`${gateway}/healthz`)).status).toBe(200);
}

type Request = Readonly<{ head: string; body: Buffer; isCut: boolean }>;

function brokenRequest(file: Registered, random: Random): Request {
  const body = brokenBody(file, random);
  const types = [
    `multipart/form-data; boundary=${boundary}`,
    'multipart/form-data',
    'multipart/form-data; boundary=""',
    'text/plain',
    `multipart/mixed; boundary=${boundary}`,
  ];
  const type = random.chance(0.9) ? types[0] : types[random.below(types.length)];
  const isCut = random.chance(0.1);
  const length = isCut ? body.length + 1000 : body.length;
  const head = `POST /api/v1/actions/cascade HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`;
  return { head, body, isCut };
}

function brokenBody({ action, signature, bytes }: Registered, random: Random): Buffer {
  const field = (name: string, value: string) =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const parts = [
    field('action_id', action),
    field('signature', signature),
    Buffer.concat([head, bytes, Buffer.from('\r\n')]),
  ];
  const kept = parts.filter(() => random.chance(0.85));
  const ordered = random.chance(0.5) ? kept : kept.toReversed();
  const doubled = random.chance(0.2) ? [...ordered, ...ordered] : ordered;
  const whole = Buffer.concat([...doubled, Buffer.from(`--${boundary}--\r\n`)]);
  const cut = random.chance(0.4) ? whole.subarray(0, random.below(whole.length)) : whole;
  const changed = Buffer.from(cut);
  for (let flips = random.below(8); flips > 0 && changed.length > 0; flips--)
    changed[random.below(Math.min(changed.length, 500))] = random.below(256);
  return changed;
}

/** The status of the answer; 0 where the connection was cut without one. */
async function exchange(gateway: string, { head, body, isCut }: Request): Promise<number> {
  const { hostname, port } = new URL(gateway);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
  socket.on('error', () => undefined);
  socket.write(head);
  if (isCut) socket.write(body, () => socket.destroy());
  else socket.write(body);
  await once(socket, 'close');
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}
