import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFixed, readSteps, readTransactions, type Step } from './recorded-chain/records.ts';
import { notImplemented, Refusal } from './recorded-chain/refusal.ts';
import { answer, type Answered, type State } from './recorded-chain/routes.ts';

/** A chain REST that answers from recordings of a real chain. */
export type RecordedChain = Readonly<{
  /** Base address, without a slash at its end. */
  url: string;
  /** All steps in order, numbered from 1. */
  steps: readonly Pick<Step, 'step' | 'height' | 'time' | 'what'>[];
  /** Makes the chain stand at a step; it begins at the first. */
  goTo: (step: number) => void;
  /** Height of the head. */
  height: () => number;
  /** Forgets blocks and transactions below a height, as a node does that keeps only the newest. */
  prune: (lowest: number) => void;
  /** Every request so far, path and query as they were sent. */
  requests: readonly string[];
  close: () => Promise<void>;
}>;

/**
 * Serves the recorded chain on a free port of loopback.
 *
 * What the recordings do not hold is refused with 501, as the chain refuses routes that it does not have.
 */
export async function startRecordedChain(): Promise<RecordedChain> {
  const steps = readSteps();
  const [first] = steps;
  if (!first) throw new Error('The recordings hold no step');
  let state: State = { past: [first], now: first, transactions: readTransactions(), fixed: readFixed(), lowest: 1 };
  const requests: string[] = [];

  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    respond(state, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    steps: steps.map(({ step, height, time, what }) => ({ step, height, time, what })),
    goTo: (number) => {
      const now = steps.find(({ step }) => step === number);
      if (!now) throw new Error(`The recordings have no step ${number}`);
      state = { ...state, now, past: steps.filter(({ step }) => step <= number) };
    },
    height: () => state.now.height,
    prune: (lowest) => void (state = { ...state, lowest }),
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function respond(state: State, request: IncomingMessage, response: ServerResponse): void {
  const raw = request.url ?? '/';
  const [path = '/', query = ''] = raw.split('?', 2);
  if (path.includes('//')) return void response.writeHead(301, { location: path.replace(/\/{2,}/g, '/') }).end();
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  const named = (height: number) => ({ ...headers, 'grpc-metadata-x-cosmos-block-height': String(height) });
  try {
    const { body, height } = answerTo(state, request, path, query);
    response.writeHead(200, named(height)).end(JSON.stringify(body));
  } catch (caught) {
    if (!(caught instanceof Refusal)) throw caught;
    const { status, code, message, height } = caught;
    const told = height === 'head' ? state.now.height : height;
    response
      .writeHead(status, told === 'none' ? headers : named(told))
      .end(JSON.stringify({ code, message, details: [] }));
  }
}

function answerTo(state: State, request: IncomingMessage, path: string, query: string): Answered {
  if (request.method !== 'GET' && request.method !== 'POST') throw notImplemented();
  const height = request.headers['x-cosmos-block-height'];
  return answer(state, path, new URLSearchParams(query), typeof height === 'string' ? height : '');
}
