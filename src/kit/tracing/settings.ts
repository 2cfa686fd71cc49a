import { setting } from '../setting.ts';
import { oneOf, text, Unfit, url } from '../setting-forms.ts';

/** Rules that decide which traces are recorded, as OpenTelemetry names them. */
const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

/** Settings of traces, with the names that OpenTelemetry gives them. */
export const tracingSettings = {
  otlpEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    '',
    url('http:', 'https:'),
    'Address of an OTLP receiver, such as http://localhost:4318, that gets spans as JSON over HTTP at /v1/traces; unset: nothing is recorded',
  ),
  otlpHeaders: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    '',
    pairs,
    'Headers of these requests, such as a token: name=value, separated by commas, values percent-encoded',
    true,
  ),
  otelServiceName: setting('OTEL_SERVICE_NAME', 'annals', text, 'Name of this process in traces'),
  otelResourceAttributes: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    '',
    pairs,
    'SpanAttributes of this process in traces: name=value, separated by commas, values percent-encoded',
  ),
  otelTracesSampler: setting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    oneOf(...samplers),
    `Which traces are recorded: ${samplers.join(', ')}; those with parentbased do as the caller does where it sends traceparent`,
  ),
  otelTracesSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    share,
    'Share of traces that traceidratio records, from 0 to 1',
  ),
} as const;

/** Where spans go, what they say of their process, and which are recorded. */
export type TracingOptions = Readonly<{
  endpoint: string | undefined;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  resource: Readonly<Record<string, string>>;
  sampler: (typeof samplers)[number];
  ratio: number;
}>;

type ParsedSettings = Readonly<{
  otlpEndpoint: string | undefined;
  otlpHeaders: Readonly<Record<string, string>>;
  otelServiceName: string;
  otelResourceAttributes: Readonly<Record<string, string>>;
  otelTracesSampler: TracingOptions['sampler'];
  otelTracesSamplerArg: number;
}>;

/** The options of tracing that the settings make; `own` are attributes of the process that they may replace. */
export function tracingOptions(config: ParsedSettings, own: Readonly<Record<string, string>>): TracingOptions {
  return {
    endpoint: config.otlpEndpoint,
    headers: config.otlpHeaders,
    serviceName: config.otelServiceName,
    resource: { ...own, ...config.otelResourceAttributes },
    sampler: config.otelTracesSampler,
    ratio: config.otelTracesSamplerArg,
  };
}

function pairs(value: string): Readonly<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const pair of value.split(',').filter((one) => one.trim() !== '')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(at, 0)).trim();
    if (name === '') throw new Unfit('pairs such as name=value, separated by commas');
    all[name] = decoded(pair.slice(at + 1).trim());
  }
  return all;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new Unfit('values that are percent-encoded');
  }
}

function share(value: string): number {
  const number = Number(value);
  if (!/^\d*\.?\d+$/.test(value) || number > 1) throw new Unfit('a number from 0 to 1');
  return number;
}
