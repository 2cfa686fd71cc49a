import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { PortResult, RecordProbe, StatusAnswer } from '../../../commands/probing.ts';
import { parseBounded, TooComplex } from '../../../kit/bounded-json.ts';
import { countDown } from '../../../kit/wait.ts';
import { type Dial, dialPort } from './dial.ts';
import { type NodeStatus, parseServices, parseStatus, servicesPath, statusPath } from './status.ts';
import { resolveTarget, targetOf, type TargetOptions } from '../../chain/rest/target.ts';

/** The ports that a node has to have open: gRPC, peers, HTTP; no other is ever dialled. */
export const probePorts = [4444, 4445, 8002] as const;
/** The port that a probe requests the status from, beyond checking that it is open. */
export const httpPort = 8002;

/** Bounds of one probe (section 9 of the design). */
export type ProbeLimits = Readonly<{ connectMs: number; statusMs: number; servicesMs: number; maxBytes: number }>;
const defaultLimits: ProbeLimits = { connectMs: 2_000, statusMs: 6_000, servicesMs: 2_000, maxBytes: 1_048_576 };

/** How a node is probed. */
export type ProbeOptions = TargetOptions &
  Readonly<{
    /** Whether to request the list of services where the status names none. */
    isServicesDue: boolean;
    signal: AbortSignal;
    dial?: Dial;
    limits?: ProbeLimits | undefined;
  }>;

/** The result of a probe, to be recorded of every node at that address. */
export type Probed = Omit<RecordProbe, 'node'>;

type HttpPart = Readonly<{ outcome: PortResult; answer: StatusAnswer; status?: NodeStatus; listed?: Probed['listed'] }>;
type Door = Readonly<{ ip: string; dial: Dial; limits: ProbeLimits; signal: AbortSignal }>;

/**
 * Probes the node at an address in the chain's form: its three ports at once, and its status over the HTTP port's
 * connection.
 *
 * An address that may not be dialled is an outcome too. Fails only when it is cancelled or this machine has no sockets
 * left.
 *
 * @example
 * await probeNode('203.0.113.7:4444', { allowPrivate: false, allowHostNames: false, isServicesDue: true, signal })
 */
export async function probeNode(address: string, options: ProbeOptions): Promise<Probed> {
  const { dial = dialPort, limits = defaultLimits, signal } = options;
  const startedAt = performance.now();
  const target = await resolveTarget(targetOf(address, options), options);
  const done = () => ({ at: new Date().toISOString(), tookMs: Math.round(performance.now() - startedAt) });
  if (target.kind === 'refused') {
    const ports = probePorts.map((port) => ({ port, outcome: 'not_dialled' }) as const);
    return { ...done(), ports, statusAnswer: 'not_asked', reported: [] };
  }
  const door: Door = { ip: target.ip, dial, limits, signal };
  const [http, ...others] = await Promise.all([
    requestHttp(door, options.isServicesDue),
    ...probePorts.filter((port) => port !== httpPort).map(async (port) => ({ port, outcome: await knock(door, port) })),
  ]);
  const { outcome, answer, status, listed } = http;
  return {
    ...done(),
    ports: [...others, { port: httpPort, outcome }],
    statusAnswer: answer,
    ...(status && { figures: status.figures }),
    reported: status?.services ?? [],
    ...(listed && { listed }),
  };
}

async function knock({ ip, dial, limits, signal }: Door, port: number): Promise<PortResult> {
  const dialled = await dial(ip, port, { connectMs: limits.connectMs, signal });
  if (dialled.outcome === 'open') dialled.socket.destroy();
  return dialled.outcome;
}

async function requestHttp(door: Door, isServicesDue: boolean): Promise<HttpPart> {
  const { outcome, asked } = await get(door, statusPath, door.limits.statusMs);
  if (asked.answer !== 'ok') return { outcome, answer: asked.answer };
  const status = parseStatus(asked.body);
  if (!status) return { outcome, answer: 'malformed' };
  if (status.services.length > 0 || !isServicesDue) return { outcome, answer: 'ok', status };
  const list = await get(door, servicesPath, door.limits.servicesMs);
  const services = list.asked.answer === 'ok' ? parseServices(list.asked.body) : [];
  return { outcome, answer: 'ok', status, listed: { at: new Date().toISOString(), services } };
}

type Got = Readonly<{ outcome: PortResult; asked: JsonAnswer | Readonly<{ answer: 'not_asked' }> }>;

async function get({ ip, dial, limits, signal }: Door, path: string, completeMs: number): Promise<Got> {
  const dialled = await dial(ip, httpPort, { connectMs: limits.connectMs, signal });
  if (dialled.outcome !== 'open') return { outcome: dialled.outcome, asked: { answer: 'not_asked' } };
  return {
    outcome: 'open',
    asked: await requestJson(dialled.socket, path, { wholeMs: completeMs, maxBytes: limits.maxBytes, signal }),
  };
}

/** A JSON value, or why there is none. */
type JsonAnswer =
  | Readonly<{ answer: 'ok'; body: unknown }>
  | Readonly<{ answer: 'timeout' | 'malformed' | 'too_large' | 'http_error' }>;

/** Limits of a request: a deadline for all of it, a size of its body, and the signal that cancels it. */
type RequestLimits = Readonly<{ wholeMs: number; maxBytes: number; signal: AbortSignal }>;

class TooLarge extends Error {}

/** A status is a few hundred values deep down to the volumes of a node. */
const bounds = { depth: 32, values: 20_000 };

/**
 * Gets JSON from a node over a connection that is open already, and closes it.
 *
 * Nothing the node does costs more than the limits: redirects and compressed bodies are not followed or unpacked, and
 * the deadline holds for the last byte too. Fails only when it is called off.
 */
async function requestJson(
  socket: Socket,
  path: string,
  { wholeMs, maxBytes, signal }: RequestLimits,
): Promise<JsonAnswer> {
  const deadline = new AbortController();
  const late = countDown(wholeMs, () => deadline.abort());
  try {
    const response = await requestOver(socket, path, AbortSignal.any([signal, deadline.signal]));
    if (response.statusCode !== 200) return { answer: 'http_error' };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await completeBody(response, maxBytes));
    return { answer: 'ok', body: parseBounded(text, bounds) };
  } catch (caught) {
    signal.throwIfAborted();
    return { answer: deadline.signal.aborted ? 'timeout' : failureOf(caught) };
  } finally {
    late.stop();
    socket.destroy();
  }
}

function requestOver(socket: Socket, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { remoteAddress: host, remotePort: port } = socket;
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      connection: 'close',
      'user-agent': 'annals',
    };
    const requested = request({ host, port, path, headers, signal, createConnection: () => socket }, resolve);
    requested.on('error', reject);
    // Informational responses could continue without end.
    requested.on('information', () => requested.destroy(new Error('The node has more to say than its answer')));
    requested.on('close', () => reject(new Error('The connection ended without an answer')));
    requested.end();
  });
}

async function completeBody(response: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > maxBytes) throw new TooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function failureOf(caught: unknown): 'malformed' | 'too_large' | 'http_error' {
  const code = caught instanceof Error && 'code' in caught ? String(caught.code) : '';
  if (caught instanceof TooLarge || code === 'HPE_HEADER_OVERFLOW') return 'too_large';
  const isNoJson =
    caught instanceof SyntaxError || caught instanceof TooComplex || code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
  return isNoJson || code.startsWith('HPE_') ? 'malformed' : 'http_error';
}
