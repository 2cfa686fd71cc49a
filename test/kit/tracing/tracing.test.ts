import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { createLogger } from '../../../src/kit/logger.ts';
import { tracingOptions, tracingSettings } from '../../../src/kit/tracing/settings.ts';
import {
  annotate,
  currentTraceparent,
  isTracing,
  openSpan,
  recordedTraceparent,
  span,
  startTracing,
} from '../../../src/kit/tracing/tracing.ts';
import { type Receiver, startReceiver } from './otlp-receiver.ts';

const trace = 'ab'.repeat(16);
const parent = `00-${trace}-${'cd'.repeat(8)}-01`;

let receiver: Receiver;
let stop = async (): Promise<void> => undefined;

/** Starts with the settings that variables make, as the program does. */
async function start(variables: Readonly<Record<string, string>> = {}): Promise<void> {
  const env: Readonly<Record<string, string>> = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...variables };
  const read = <T>({
    env: name,
    default: usual,
    parse,
  }: {
    env: string;
    default: string;
    parse: (text: string) => T;
  }) => parse(env[name] ?? usual);
  const config = {
    otlpEndpoint: read(tracingSettings.otlpEndpoint),
    otlpHeaders: read(tracingSettings.otlpHeaders),
    otelServiceName: read(tracingSettings.otelServiceName),
    otelResourceAttributes: read(tracingSettings.otelResourceAttributes),
    otelTracesSampler: read(tracingSettings.otelTracesSampler),
    otelTracesSamplerArg: read(tracingSettings.otelTracesSamplerArg),
  };
  stop = await startTracing(
    tracingOptions(config, { 'annals.network': 'test' }),
    createLogger({ level: 'error', format: 'json' }),
  );
}

beforeAll(async () => {
  receiver = await startReceiver();
});

afterEach(async () => {
  await stop();
  for (const all of [receiver.spans, receiver.bodies, receiver.requests]) all.splice(0);
});

describe('without an endpoint', () => {
  it('span is the work itself, and nothing is open', async () => {
    await start({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
    const work = Promise.resolve(7);
    expect(span('any', {}, () => work)).toBe(work);
    annotate({ any: 1 });
    openSpan('other', {}).end();
    expect([isTracing(), currentTraceparent(), recordedTraceparent()]).toEqual([false, undefined, undefined]);
  });
});

describe('with an endpoint', () => {
  it('sends a tree of spans to /v1/traces, with the headers and the resource that are set', async () => {
    await start({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc',
      OTEL_SERVICE_NAME: 'one',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bench',
    });
    const failing = span('above', { kind: 'server', parents: [parent] }, async (opened) => {
      opened.set({ 'http.response.status_code': 202, 'is.any': true, none: undefined });
      await span('below', { kind: 'producer' }, async () => annotate({ share: 0.5 }, 'below, renamed'));
      throw new AppError('UNAVAILABLE', 'a message with a secret');
    });
    await expect(failing).rejects.toThrow('a message');
    await stop();
    expect(receiver.paths(trace)).toEqual(['above', 'above > below, renamed']);
    const [below, above] = receiver.spans;
    expect(above).toMatchObject({
      service: 'one',
      parentSpanId: 'cd'.repeat(8),
      kind: 2,
      isFailed: true,
      attributes: { 'http.response.status_code': 202, 'is.any': true, 'error.type': 'UNAVAILABLE' },
    });
    expect(below).toMatchObject({ kind: 4, isFailed: false, attributes: { share: 0.5 } });
    expect(Number(above?.startUs)).toBeLessThanOrEqual(Number(below?.startUs));
    expect(Number(above?.endUs)).toBeGreaterThanOrEqual(Number(below?.endUs));
    expect(receiver.requests[0]).toMatchObject({ url: '/v1/traces', headers: { authorization: 'Bearer abc' } });
    const [body] = receiver.bodies;
    expect(body).toContain('{"key":"deployment.environment.name","value":{"stringValue":"test bench"}}');
    expect(body).toContain('{"key":"annals.network","value":{"stringValue":"test"}}');
    expect(body).not.toContain('secret');
  });

  it('continues a trace in calls that are open at the same time, each its own', async () => {
    await start();
    const names = ['1', '2', '3'];
    const traces = await Promise.all(
      names.map((name) =>
        span(name, { parents: [] }, async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return await span(`below ${name}`, {}, async () => recordedTraceparent()?.slice(3, 35));
        }),
      ),
    );
    expect(new Set(traces).size).toBe(3);
    await stop();
    expect(traces.map((id) => receiver.paths(id ?? ''))).toEqual(
      names.map((name) => [name, `${name} > below ${name}`]),
    );
  });

  it('puts a batch into each trace that its parents are of, linked to the others of that trace', async () => {
    await start();
    const other = `00-${'12'.repeat(16)}-${'34'.repeat(8)}-01`;
    const unsampled = `00-${'56'.repeat(16)}-${'78'.repeat(8)}-00`;
    const second = parent.replaceAll('cd', 'ef');
    await span('batch', { kind: 'consumer', parents: [parent, other, 'no traceparent', second, unsampled] }, () =>
      span('write', {}, async () => undefined),
    );
    await stop();
    expect(receiver.paths(trace)).toEqual(['batch', 'batch > write']);
    expect(receiver.paths('12'.repeat(16))).toEqual(['batch', 'batch > write']);
    expect(receiver.spans).toHaveLength(4);
    const [linked] = receiver.spans.filter(({ name, traceId }) => name === 'batch' && traceId === trace);
    expect(linked).toMatchObject({
      parentSpanId: 'cd'.repeat(8),
      links: [{ traceId: trace, spanId: 'ef'.repeat(8) }],
    });
  });

  it('names at most 64 traces of a batch, and 64 links in one', async () => {
    await start();
    const id = (n: number): string => (n + 1).toString(16).padStart(16, '0');
    const ofMany = Array.from({ length: 100 }, (_, n) => `00-${id(n)}${id(n)}-${id(n)}-01`);
    const ofOne = Array.from({ length: 100 }, (_, n) => `00-${trace}-${id(n)}-01`);
    await span('many', { parents: ofMany }, async () => undefined);
    await span('one', { parents: ofOne }, async () => undefined);
    await stop();
    expect(receiver.spans.filter(({ name }) => name === 'many')).toHaveLength(64);
    expect(receiver.spans.filter(({ name }) => name === 'one').map(({ links }) => links.length)).toEqual([64]);
  });
});

describe('the sampler', () => {
  const opened = async (parents?: readonly string[]): Promise<string | undefined> =>
    await span('any', parents ? { parents } : {}, () => span('below', {}, async () => currentTraceparent()));

  it('follows the caller, and names what is not recorded as such', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
    expect(await opened([parent])).toMatch(new RegExp(`^00-${trace}-[\\da-f]{16}-01$`));
    expect(await opened([parent.replace(/01$/, '00')])).toMatch(/-00$/);
    expect(await opened()).toMatch(/-00$/);
    expect(await span('any', {}, async () => recordedTraceparent())).toBeUndefined();
    await stop();
    expect(receiver.spans.map(({ name, traceId }) => [name, traceId])).toEqual([
      ['below', trace],
      ['any', trace],
    ]);
  });

  it('records a share of the traces, whatever callers want, and all of a trace or nothing', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' });
    const low = `00-${'1'.repeat(32)}-${'34'.repeat(8)}-00`;
    const high = `00-${'e'.repeat(32)}-${'34'.repeat(8)}-01`;
    expect([await opened([low]), await opened([high])]).toEqual([
      expect.stringMatching(/^00-1{32}.*-01$/),
      expect.stringMatching(/^00-e{32}.*-00$/),
    ]);
    await stop();
    expect(receiver.paths('1'.repeat(32))).toEqual(['any', 'any > below']);
    expect(receiver.spans).toHaveLength(2);
  });
});

describe('a receiver', () => {
  it('that is away for a while gets the spans once it is back; one that refuses them does not', async () => {
    await start();
    receiver.refuse(503);
    await span('kept', {}, async () => undefined);
    await stop();
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.spans.map(({ name }) => name)).toEqual(['kept']);
    await start();
    receiver.refuse(400);
    await span('refused', {}, async () => undefined);
    await stop();
    expect(receiver.spans.map(({ name }) => name)).toEqual(['kept']);
  });
});
