import { once } from 'node:events';
import { configFromEnvironment } from '../config.ts';
import type { TailedEvent } from '../edges/admin/tail.ts';
import { AppError } from '../kit/errors.ts';
import { adminOf } from './admin-client.ts';

type Options = Readonly<{ from?: string; limit?: string; json: boolean }>;

/**
 * `annals tail`: prints the events of a subject, from a position or from now on, until it is interrupted or `--limit`
 * is reached.
 */
export async function tail(subject: string, { from, limit, json }: Options): Promise<void> {
  if (from !== undefined && from !== 'start') checkPositive('--from', from);
  if (limit !== undefined) checkPositive('--limit', limit);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const admin = await adminOf(configFromEnvironment());
  const wanted = new URLSearchParams({ subject, ...(from !== undefined && { from }) });
  let left = limit === undefined ? Infinity : Number(limit);
  for await (const event of admin.feed(`/admin/v1/events?${wanted.toString()}`, stop.signal)) {
    const text = json ? JSON.stringify(event) : line(event as TailedEvent);
    if (!process.stdout.write(`${text}\n`)) await once(process.stdout, 'drain');
    left -= 1;
    if (left <= 0) return;
  }
}

function checkPositive(option: string, text: string): void {
  if (/^[1-9]\d{0,14}$/.test(text)) return;
  const also = option === '--from' ? ', or `start`' : '';
  throw new AppError('INVALID_ARGUMENT', `${option} takes a whole number from 1${also}, not ${text}`);
}

function line({ stream, sequence, type, subject, time, data }: TailedEvent): string {
  const name = type.replace(/^annals\.|\.v\d+$/g, '');
  return `${time}  ${`${stream}/${sequence}`.padEnd(14)}  ${name.padEnd(22)}  ${subject}  ${gist(data)}`;
}

/** The plain values of a fact, without those that it only repeats. */
function gist(data: object): string {
  return Object.entries(data)
    .slice(1)
    .filter(([name, value]) => name !== 'metadata' && (typeof value !== 'object' || isTexts(value)))
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
