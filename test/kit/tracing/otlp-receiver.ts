import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll } from 'vitest';

/** A span as a receiver stores it: attributes by name, times in microseconds. */
export type ReceivedSpan = Readonly<{
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: number;
  isFailed: boolean;
  attributes: Readonly<Record<string, unknown>>;
  links: readonly Readonly<{ traceId: string; spanId: string }>[];
  startUs: number;
  endUs: number;
}>;

/** An OTLP receiver on loopback, which is closed when the test file is over. */
export type Receiver = Readonly<{
  url: string;
  spans: ReceivedSpan[];
  /** The bodies as they came. */
  bodies: string[];
  requests: Readonly<{ url: string | undefined; headers: IncomingHttpHeaders }>[];
  /** Answers the next requests with these; 200 afterwards. */
  refuse: (...statuses: number[]) => void;
  /** The spans of a trace, each with the names of those above it, the topmost first. */
  paths: (traceId: string) => string[];
}>;

const endings: (() => void)[] = [];

afterAll(() => {
  for (const end of endings) end();
});

/** Starts a receiver that keeps every span it is sent. */
export async function startReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const requests: Receiver['requests'] = [];
  const refusals: number[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const status = refusals.shift() ?? 200;
    requests.push({ url: request.url, headers: request.headers });
    if (status === 200) {
      bodies.push(body);
      spans.push(...spansIn(JSON.parse(body) as Body));
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const refuse = (...statuses: number[]): void => void refusals.push(...statuses);
  return { url, spans, bodies, requests, refuse, paths: (traceId) => pathsOf(spans, traceId) };
}

function pathsOf(spans: readonly ReceivedSpan[], traceId: string): string[] {
  const own = spans.filter((span) => span.traceId === traceId);
  const byId = new Map(own.map((span) => [span.spanId, span]));
  const pathOf = ({ name, parentSpanId }: ReceivedSpan): string => {
    const above = byId.get(parentSpanId ?? '');
    return above ? `${pathOf(above)} > ${name}` : name;
  };
  // Where two began in the same microsecond, the upper one is first: its path is the start of the other's.
  return own
    .map((span) => ({ startUs: span.startUs, path: pathOf(span) }))
    .toSorted((a, b) => a.startUs - b.startUs || a.path.length - b.path.length)
    .map(({ path }) => path);
}

type Attribute = Readonly<{ key: string; value: Readonly<Record<string, unknown>> }>;
type WireSpan = Readonly<{
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  links: ReceivedSpan['links'];
  status: Readonly<{ code?: number }>;
}>;
type Body = Readonly<{
  resourceSpans: Readonly<{
    resource: Readonly<{ attributes: Attribute[] }>;
    scopeSpans: Readonly<{ spans: WireSpan[] }>[];
  }>[];
}>;

function spansIn({ resourceSpans }: Body): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => receivedOf(span, service)));
  });
}

function receivedOf({ attributes, status, startTimeUnixNano, endTimeUnixNano, ...span }: WireSpan, service: string) {
  const { traceId, spanId, parentSpanId, name, kind, links } = span;
  return {
    service,
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    links,
    isFailed: status.code === 2,
    attributes: valuesOf(attributes),
    startUs: Number(BigInt(startTimeUnixNano) / 1000n),
    endUs: Number(BigInt(endTimeUnixNano) / 1000n),
  };
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  const valueOf = ({ value }: Attribute): unknown =>
    'intValue' in value ? Number(value['intValue']) : Object.values(value)[0];
  return Object.fromEntries(attributes.map((one) => [one.key, valueOf(one)]));
}
