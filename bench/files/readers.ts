import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { residentMib } from './gateway-apart.ts';

/** A client that reads server-sent events, and what it has read. */
export type Reader = Readonly<{ socket: Socket; text: () => string }>;

/** Arguments of a program whose memory is measured without garbage. */
export const collecting = ['--expose-gc', '--import', new URL('collect.ts', import.meta.url).href];

const sampleEachMs = 100;
const addresses = 4;
const leastLooks = 4;
const mostLooks = 20;

/** Opens so many readers, one after the other, from some addresses of loopback; each has read what it begins with. */
export async function openReaders(
  open: Reader[],
  count: number,
  { url, begin }: Readonly<{ url: string; begin: string }>,
): Promise<void> {
  const { hostname: host, port, pathname, search } = new URL(url);
  const request = `GET ${pathname}${search} HTTP/1.1\r\nHost: reader\r\nAccept: text/event-stream\r\n\r\n`;
  for (let at = 0; at < count; at += 1) {
    const socket = connect({ host, port: Number(port), localAddress: `127.0.0.${1 + (at % addresses)}` });
    let text = '';
    socket.on('error', () => undefined);
    const begun = new Promise<void>((resolve, reject) => {
      socket.on('data', (bytes) => {
        text += bytes.toString();
        if (text.includes(begin)) resolve();
      });
      socket.on('close', () => reject(new Error(`A reader was cut off: ${text.slice(-200)}`)));
    });
    socket.write(request);
    await begun;
    open.push({ socket, text: () => text });
  }
}

/**
 * Memory of a program of `collecting` without garbage, in MiB, once it has what it needs for itself: in its first
 * minute one grows by some 50 MiB, whoever reads, and whatever happens in it leaves garbage for a while.
 */
export async function leastMib(pid: number): Promise<number> {
  const all = [await settledMib(pid)];
  while (all.length < leastLooks || (all.length < mostLooks && (all.at(-1) ?? 0) - (all.at(-2) ?? 0) >= 1))
    all.push(await settledMib(pid));
  return Math.min(...all.slice(-leastLooks));
}

/** The same once it has not grown for two seconds. */
async function settledMib(pid: number): Promise<number> {
  process.kill(pid, 'SIGUSR2');
  const quietTimes = 20;
  let [last, quiet] = [await residentMib(pid), 0];
  for (let times = 0; quiet < quietTimes && times < 100; times += 1) {
    await pause(sampleEachMs);
    const now = await residentMib(pid);
    quiet = now > last ? 0 : quiet + 1;
    last = Math.max(last, now);
  }
  return await residentMib(pid);
}
