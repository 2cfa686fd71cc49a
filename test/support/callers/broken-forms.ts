import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { type Random, seeded } from '../histories/random-history.ts';
import { until } from '../polling.ts';
import type { Program } from '../programs/run-program.ts';
import { type Registered, registered } from '../../e2e/gateway/gateway-client.ts';

const boundary = 'of-the-broken-forms';
const atOnce = 6;

/**
 * Sends forms that are broken in every way: cut, doubled, with bytes changed, parts left out, wrong headers, cut
 * connections. Gives what blames the gateway: an answer of 5xx or none, an upload that began, a file that is left.
 *
 * The file in them is not the one that was registered, so that none of them can begin a task.
 */
export async function sendBrokenForms(
  { instance, folder }: Program,
  { count, seed }: Readonly<{ count: number; seed: number }>,
): Promise<string[]> {
  const gateway = instance.urls['gateway'] ?? '';
  const file = { ...(await registered(gateway, 'never sent whole.bin')), bytes: Buffer.alloc(3000, 'x') };
  const random = seeded(seed);
  const faults: string[] = [];
  let refused = 0;
  for (let sent = 0; sent < count; sent += atOnce) {
    const requests = Array.from({ length: Math.min(atOnce, count - sent) }, () => brokenRequest(file, random));
    const answered = requests.map(async (request) => [await exchange(gateway, request), request.isCut] as const);
    for (const [status, isCut] of await Promise.all(answered)) {
      if (status >= 400 && status < 500) refused += 1;
      else if (status !== 0 || !isCut) faults.push(`${status || 'no answer'} among the forms from ${sent} on`);
    }
  }
  if (refused < count / 2) faults.push(`only ${refused} of ${count} forms were refused`);
  const incoming = path.join(folder, 'transfers/incoming');
  await until('nothing is left of them', () => readdirSync(incoming).length === 0).catch(() =>
    faults.push(`left: ${readdirSync(incoming).join(', ')}`),
  );
  const { status } = await fetch(`${gateway}/healthz`);
  return status === 200 ? faults : [...faults, `/healthz answers ${status}`];
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
