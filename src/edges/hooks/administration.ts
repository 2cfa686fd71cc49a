import { randomBytes } from 'node:crypto';
import { AdministerHooks, type HookAct, type HookFilter } from '../../commands/hooks/administering.ts';
import type { HookPosition, KnownHook } from '../../commands/hooks/hook-state.ts';
import type { Heads } from '../../engine/log/head.ts';
import type { Log } from '../../engine/log/log.ts';
import { type FactType, factTypes, streamOf } from '../../events/catalogue.ts';
import type { StreamName } from '../../events/streams.ts';
import { eventType } from '../../events/upcast.ts';
import { AppError } from '../../kit/errors.ts';
import { dispatch } from '../bus.ts';
import { type AddressRules, checkAddress } from './addresses.ts';
import { testEvent } from './due-events.ts';
import { hooksIn } from './run-hooks.ts';
import type { HookSender } from './sender.ts';
import { fingerprintOf, type HookKey, secretOf, secretsOf, senderNameOf, signedHeaders } from './signing.ts';

/** What an operator registers or changes; `types` are those of events. */
export type HookRequest = Readonly<{
  url: string;
  description?: string;
  streams: readonly StreamName[];
  types?: readonly string[];
  entity?: string;
  /** First sequence to send. */
  from?: number;
}>;

/** What came of an event that was sent to try a hook out. */
export type TestedHook = Readonly<{ id: string; acknowledged: boolean; status: number | null; reason: string | null }>;

/** Carries out what an operator wants done to a hook, and records that where it is recorded. */
export type RecordHookAct = <T extends object>(act: string, hook: string, work: () => Promise<T>) => Promise<T>;

/** What is put to a hook that is there. */
export type HookChange = Partial<Omit<HookRequest, 'from'>> & Readonly<{ enabled?: boolean }>;

/**
 * The webhooks of a network for its operator; an id that there is not fails with `NOT_FOUND`. What is refused reaches
 * no `record`.
 */
export type HookAdministration = Readonly<{
  list: () => Promise<ReadonlyMap<string, KnownHook>>;
  find: (id: string) => Promise<KnownHook>;
  /** Fails with `INVALID_ARGUMENT` for what cannot be sent to or followed, with `CONFLICT` where there are too many. */
  register: (
    request: HookRequest,
    record?: RecordHookAct,
  ) => Promise<Readonly<{ hook: string; known: KnownHook; secret: string }>>;
  change: (id: string, change: HookChange, record?: RecordHookAct) => Promise<void>;
  /** Makes what waits due at once, and enables a hook that is disabled. */
  retry: (id: string, record?: RecordHookAct) => Promise<void>;
  replay: (id: string, to: Readonly<{ from: number; stream?: StreamName }>, record?: RecordHookAct) => Promise<void>;
  /** Returns the new secret; the one before signs too for some seconds. */
  rotate: (id: string, graceSeconds: number, record?: RecordHookAct) => Promise<string>;
  test: (id: string) => Promise<TestedHook>;
  remove: (id: string, record?: RecordHookAct) => Promise<void>;
}>;

/** What the administration works with. */
export type HookOptions = AddressRules &
  Readonly<{
    log: Pick<Log, 'append' | 'last' | 'lastOfAll' | 'confirmedLast'>;
    heads: () => Promise<Heads>;
    key: () => Promise<HookKey>;
    sender: HookSender;
    /** The name by which receivers are asked; undefined for that of the key. */
    origin?: string | undefined;
    network: string;
    clock: () => number;
  }>;

const mostHooks = 50;
const idBytes = 12;

/** An id that starts with a word: where one starts with a hyphen, command lines take it for an option. */
const freshId = (word: 'hook' | 'test'): string => `${word}_${randomBytes(idBytes).toString('base64url')}`;

/** Makes the administration of webhooks over a log. */
export function createHookAdministration(options: HookOptions): HookAdministration {
  const { log, heads, key, clock } = options;
  const now = (): string => new Date(clock()).toISOString();
  const list = async () => {
    const all = [...hooksIn(await log.lastOfAll('hook'))].filter(([, { status }]) => status !== 'removed');
    return new Map(all.toSorted(([, a], [, b]) => (a.createdAt < b.createdAt ? -1 : 1)));
  };
  const find = async (id: string): Promise<KnownHook> => {
    const last = await log.confirmedLast('hook', id);
    const known = last && hooksIn(new Map([[id, last]])).get(id);
    if (known && known.status !== 'removed') return known;
    throw new AppError('NOT_FOUND', 'There is no such webhook.');
  };
  const carryOut = (act: HookAct): Promise<KnownHook> => carryOutAct(log, act);
  const act: ActOnHook = async (id, what, record = unrecorded) => {
    await find(id);
    return await record(`${what.act}_hook`, id, () => carryOut({ ...what, hook: id, at: now() }));
  };
  const register: HookAdministration['register'] = async (request, record = unrecorded) => {
    await checkAddress(request.url, options);
    const filter = filterOf(request);
    const { size } = await list();
    if (size >= mostHooks) throw new AppError('CONFLICT', `There are ${size} webhooks, as many as there may be.`);
    const hook = freshId('hook');
    const positions = positionsFrom(await heads(), request.streams, request.from);
    const master = await key();
    const first = { act: 'register', hook, at: now(), filter, key: fingerprintOf(master), positions } as const;
    const known = await record('register_hook', hook, () => carryOut(first));
    return { hook, known, secret: secretOf(master, hook, known.secret) };
  };
  return {
    list,
    find,
    register,
    change: async (id, change, record) => await changeHook(options, { id, change, record, find, act }),
    retry: async (id, record = unrecorded) =>
      void (await act(id, { act: 'enable' }, (_, hook, work) => record('retry_hook', hook, work))),
    replay: async (id, { from, stream }, record) => {
      const { streams } = await find(id);
      if (stream !== undefined && !streams.includes(stream))
        throw new AppError('INVALID_ARGUMENT', `The webhook follows ${streams.join(', ')}, not ${stream}.`);
      const wanted = stream === undefined ? (streams as StreamName[]) : [stream];
      const positions = positionsFrom(await heads(), wanted, from);
      await act(id, { act: 'replay', positions }, record);
    },
    rotate: async (id, graceSeconds, record) => {
      const master = await key();
      const previousUntil = graceSeconds > 0 ? new Date(clock() + graceSeconds * 1000).toISOString() : undefined;
      const { secret } = await act(id, { act: 'rotate', key: fingerprintOf(master), previousUntil }, record);
      return secretOf(master, id, secret);
    },
    test: async (id) => await sendTest(options, id, await find(id)),
    remove: async (id, record) => void (await act(id, { act: 'remove' }, record)),
  };
}

async function carryOutAct(log: HookOptions['log'], act: HookAct): Promise<KnownHook> {
  const { states } = await dispatch(log, new AdministerHooks(new Map([[act.hook, act]]), { at: act.at }));
  const known = states.get(act.hook)?.state;
  if (known) return known;
  throw new AppError('INTERNAL', `Nothing was decided about the webhook ${act.hook}`);
}

type HookActOf = HookAct extends infer One ? (One extends unknown ? Omit<One, 'hook' | 'at'> : never) : never;

type ActOnHook = (id: string, what: HookActOf, record?: RecordHookAct) => Promise<KnownHook>;

const unrecorded: RecordHookAct = async (_act, _hook, work) => await work();

type Changing = Readonly<{
  id: string;
  change: HookChange;
  record: RecordHookAct | undefined;
  find: HookAdministration['find'];
  act: ActOnHook;
}>;

async function changeHook(
  options: HookOptions,
  { id, change: { enabled, ...change }, record, find, act }: Changing,
): Promise<void> {
  const known = await find(id);
  if (Object.keys(change).length > 0) {
    if (change.url !== undefined) await checkAddress(change.url, options);
    const streams = change.streams ?? known.streams.map((stream) => stream as StreamName);
    const types = change.types ?? known.types.map((type) => eventType(type as FactType));
    const whole = filterOf({ url: known.url, ...change, streams, types });
    const { entity } = change;
    const filter = {
      ...(change.url !== undefined && { url: change.url }),
      ...(change.description !== undefined && { description: change.description }),
      streams: whole.streams,
      types: whole.types,
      ...(entity !== undefined && { entity: entity === '' ? undefined : entity }),
    };
    await act(id, { act: 'change', filter, positions: positionsFrom(await options.heads(), streams) }, record);
  }
  if (enabled !== undefined) await act(id, { act: enabled ? 'enable' : 'disable' }, record);
}

function filterOf({ url, description = '', streams, types = [], entity }: HookRequest): HookFilter {
  const facts = types.map((name) => {
    const type = factTypes.find((one) => eventType(one) === name);
    if (type !== undefined && streams.includes(streamOf(type))) return type;
    throw new AppError('INVALID_ARGUMENT', `No event of ${streams.join(' or ')} is of type ${name}.`);
  });
  return { url, description, streams: [...new Set(streams)], types: [...new Set(facts)], entity };
}

/** Positions after which deliveries start: before a first sequence, or the ends of the streams. */
function positionsFrom(heads: Heads, streams: readonly StreamName[], from?: number): HookPosition[] {
  return streams.map((stream) => {
    const { lastSequence: end = 0, incarnation } = heads[stream] ?? {};
    if (from !== undefined && from > end + 1)
      throw new AppError('BEYOND_HEAD', `${stream} ends at ${end}: it has no event ${from} yet.`);
    const sequence = from === undefined ? end : from - 1;
    return { stream, sequence, ...(incarnation !== undefined && { incarnation }) };
  });
}

async function sendTest(options: HookOptions, hook: string, known: KnownHook): Promise<TestedHook> {
  const { clock, key, sender, network } = options;
  const { signal } = new AbortController();
  const master = await key();
  const { origin = senderNameOf(master) } = options;
  const refusal = await sender.admit({ url: known.url, origin }, signal);
  const now = clock();
  const id = freshId('test');
  const body = testEvent({ id, hook, network, at: new Date(now).toISOString() });
  const secrets = secretsOf(master, hook, { ...known, at: now });
  const headers = signedHeaders({ id, timestamp: Math.floor(now / 1000), body }, { key: master, secrets });
  const attempt = refusal ?? (await sender.send({ url: known.url, headers, body }, signal));
  const isAcknowledged = attempt.outcome === 'acknowledged';
  return {
    id,
    acknowledged: isAcknowledged,
    status: attempt.status ?? null,
    reason: isAcknowledged ? null : attempt.reason,
  };
}
