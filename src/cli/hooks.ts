import prettyMs from 'pretty-ms';
import { configFromEnvironment } from '../config.ts';
import { findInstance } from '../engine/servers/instance.ts';
import { AppError } from '../kit/errors.ts';
import { type AdminClient, findAdmin } from './admin-client.ts';
import { print, table } from './output.ts';

/** What may be done to webhooks; without one they are listed. */
export const hookActs = [
  'list',
  'show',
  'add',
  'enable',
  'disable',
  'retry',
  'replay',
  'rotate',
  'test',
  'remove',
] as const;

/** Options of the acts: `add` takes all but `stream`, `replay` takes `from` and `stream`. */
export type HookActOptions = Readonly<{
  json: boolean;
  streams?: string;
  types?: string;
  entity?: string;
  description?: string;
  from?: string;
  stream?: string;
}>;

type Json = Readonly<Record<string, unknown>>;

/** `annals hooks`: the webhooks of the running instance, and what its operator does to them. */
export async function hooks(act: string, target: string | undefined, options: HookActOptions): Promise<void> {
  const config = configFromEnvironment();
  const admin = await findAdmin(await findInstance(config), config);
  if (!admin) throw new AppError('UNAVAILABLE', 'The running instance answers no administration');
  const answer = await carryOut(admin, { act, target }, options);
  print(answer, { json: options.json, human: () => forPeople(answer) });
}

async function carryOut(
  admin: AdminClient,
  { act, target }: Readonly<{ act: string; target: string | undefined }>,
  options: HookActOptions,
): Promise<Json> {
  if (act === 'list') return await admin.get('/admin/v1/hooks');
  if (!hookActs.some((one) => one === act))
    throw new AppError('INVALID_ARGUMENT', `There is no act ${act}; there are ${hookActs.join(', ')}`);
  if (target === undefined)
    throw new AppError('INVALID_ARGUMENT', `annals hooks ${act} takes ${act === 'add' ? 'an address' : 'an id'}`);
  if (act === 'add') return await admin.post('/admin/v1/hooks', registrationOf(target, options));
  const hook = `/admin/v1/hooks/${encodeURIComponent(target)}`;
  if (act === 'show') return await admin.get(hook);
  if (act === 'disable' || act === 'enable') return await admin.patch(hook, { enabled: act === 'enable' });
  if (act === 'remove') {
    await admin.delete(hook);
    return { id: target, status: 'removed' };
  }
  const { stream, from } = options;
  const body = act === 'replay' ? { from: sequenceIn(from), ...(stream !== undefined && { stream }) } : undefined;
  return await admin.post(`${hook}/${act}`, body);
}

function registrationOf(url: string, { streams, types, entity, description, from }: HookActOptions): object {
  return {
    url,
    streams: listIn(streams ?? 'ACTIONS'),
    ...(types !== undefined && { types: listIn(types) }),
    ...(entity !== undefined && { entity }),
    ...(description !== undefined && { description }),
    ...(from !== undefined && { from: sequenceIn(from) }),
  };
}

const listIn = (text: string): string[] => text.split(',').map((one) => one.trim());

function sequenceIn(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new AppError('INVALID_ARGUMENT', `--from takes a sequence from 1, as of the first event to send`);
}

function forPeople(answer: Json): string {
  if (Array.isArray(answer['hooks'])) return answer['hooks'].length === 0 ? 'No webhooks' : tableOf(answer['hooks']);
  if (typeof answer['acknowledged'] === 'boolean')
    return answer['acknowledged']
      ? 'The receiver has acknowledged it'
      : `Not acknowledged: ${String(answer['reason'])}`;
  if (answer['status'] === 'removed') return `Webhook ${String(answer['id'])} is removed`;
  const { hook = answer, secret } = answer as Readonly<{ hook?: Json; secret?: string }>;
  return secret === undefined ? tableOf([hook]) : `${tableOf([hook])}\n\nSecret, shown this once: ${secret}`;
}

type Shown = Readonly<{
  id: string;
  url: string;
  status: string;
  disabled_reason: string | null;
  streams: readonly Readonly<{ name: string; position: number; lag_events: number }>[];
  waiting: readonly object[];
  last_failure: Readonly<{ at: string; reason: string }> | null;
}>;

function tableOf(list: readonly unknown[]): string {
  const rows = (list as readonly Shown[]).map((one) => [
    one.id,
    one.url,
    one.disabled_reason === null ? one.status : `${one.status}: ${one.disabled_reason}`,
    one.streams.map(({ name, position, lag_events: lag }) => `${name} ${position} (${lag} behind)`).join(', '),
    one.waiting.length,
    one.last_failure && `${prettyMs(Date.now() - Date.parse(one.last_failure.at), { compact: true })} ago`,
  ]);
  return table(['HOOK', 'ADDRESS', 'STATE', 'POSITION', 'WAITING', 'LAST FAILURE'], rows);
}
