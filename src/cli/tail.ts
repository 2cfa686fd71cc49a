import { AppError } from '../kit/errors.ts';
import type { Recorded } from '../commands/ports.ts';
import { catalogue, entityOf, streamOf, subjectOf } from '../events/catalogue.ts';
import { type StreamName, streams, streamTable, subjectsOf } from '../events/streams.ts';
import { configFromEnvironment } from '../config.ts';
import { eventType } from '../events/upcast.ts';
import type { Log } from '../engine/log/log.ts';
import { withStores } from './stores.ts';

type Options = Readonly<{ from?: string; limit?: string; json: boolean }>;

/**
 * `annals tail`: prints the events of a subject, from a position or from now on, until it is interrupted or `--limit`
 * is reached.
 */
export async function tail(subject: string, { from, limit, json }: Options): Promise<void> {
  const wanted = subject.replace(/^live\./, 'evt.');
  const after = startOf(from);
  const most = limit === undefined ? Infinity : positive('--limit', limit);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  await withStores(configFromEnvironment(), 'tail', async ({ log, network }) => {
    let printed = 0;
    const show = (recorded: Recorded): void => {
      if (stop.signal.aborted || !matches(wanted, subjectFor(recorded, network))) return;
      process.stdout.write(`${json ? JSON.stringify(asEvent(recorded)) : line(recorded)}\n`);
      printed += 1;
      if (printed >= most) stop.abort();
    };
    const reached = streams.filter((stream) =>
      subjectsOf(streamTable[stream], network).some((pattern) => overlaps(wanted, pattern)),
    );
    if (reached.length === 0)
      throw new AppError(
        'INVALID_ARGUMENT',
        `No stream holds ${subject}: subjects look like evt.action.${network}.7 or evt.probe.>`,
      );
    await Promise.all(reached.map((stream) => followStream(log, stream, { after, signal: stop.signal, show })));
  });
}

async function followStream(
  log: Log,
  stream: StreamName,
  { after, signal, show }: { after: number | 'now'; signal: AbortSignal; show: (recorded: Recorded) => void },
): Promise<void> {
  const { firstSequence, lastSequence } = await log.head(stream);
  const open = after === 'now' ? lastSequence : Math.max(after, firstSequence - 1, 0);
  try {
    for await (const { facts } of log.follow(stream, open, { signal })) facts.forEach(show);
  } catch (caught) {
    if (!signal.aborted) throw caught;
  }
}

function startOf(from: string | undefined): number | 'now' {
  if (from === undefined) return 'now';
  return from === 'start' ? 0 : positive('--from', from) - 1;
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1)
    throw new AppError(
      'INVALID_ARGUMENT',
      `${option} takes a whole number from 1${option === '--from' ? ', or `start`' : ''}, not ${text}`,
    );
  return value;
}

function subjectFor({ fact }: Recorded, network: string): string {
  return subjectOf(catalogue[fact.type].kind, network, entityOf(fact));
}

/** Returns whether a subject fits a pattern with the wildcards of NATS. */
export function matches(pattern: string, subject: string): boolean {
  const [wanted, match] = [pattern.split('.'), subject.split('.')];
  const rest = wanted.indexOf('>');
  if (rest === -1 ? wanted.length !== match.length : match.length <= rest) return false;
  return wanted.slice(0, rest === -1 ? undefined : rest).every((token, at) => token === '*' || token === match[at]);
}

/** Returns whether some subject of the form `evt.<kind>.<network>.*` can fit a pattern. */
function overlaps(pattern: string, own: string): boolean {
  const tokens = pattern.split('.');
  return own.split('.').every((token, at) => {
    const wanted = tokens[at];
    if (tokens.slice(0, at + 1).includes('>') || wanted === '*') return true;
    return token === '*' ? wanted !== undefined : wanted === token;
  });
}

function asEvent({ fact, id, sequence, time, causation, previous }: Recorded): object {
  return {
    stream: streamOf(fact.type),
    sequence,
    id,
    type: eventType(fact.type),
    subject: entityOf(fact),
    time,
    causationid: causation,
    previousid: previous,
    data: fact.data,
  };
}

function line({ fact, sequence, time }: Recorded): string {
  const location = `${streamOf(fact.type)}/${sequence}`;
  return `${time}  ${location.padEnd(14)}  ${fact.type.padEnd(22)}  ${entityOf(fact)}  ${gist(fact.data)}`;
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
