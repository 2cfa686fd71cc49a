import type { Fact, FactOf } from '../../events/catalogue.ts';

/** A hook as it is; every fact of it carries it. */
export type KnownHook = Fact<'HookRegistered'>['data']['known'];

/** Where an entity waits for another attempt. */
export type WaitingEntity = KnownHook['waiting'][number];

/** How far a stream is done. */
export type HookPosition = KnownHook['positions'][number];

/** An attempt that was not acknowledged. */
export type DeliveryFailure = Fact<'DeliveriesFailed'>['data']['failures'][number];

/** Why a hook is disabled. */
export type DisabledReason = 'operator' | 'gone' | 'failing' | 'secret_lost';

/** Whether something is sent. */
export const hookStatuses = ['enabled', 'disabled', 'removed'] as const;

/** Reads a hook from its last fact; one that was never registered is undefined. */
export function hookAfter({ data: { known } }: FactOf<'hook'>): KnownHook {
  return known;
}

/**
 * A hook with some changes, its fields in the order of the schema, in which events are written; undefined ones are left
 * out.
 */
export function changed(
  hook: KnownHook,
  changes: { readonly [K in keyof KnownHook]?: KnownHook[K] | undefined },
): KnownHook {
  const next = { ...hook, ...changes };
  const ordered = fieldOrder.flatMap((field) => (next[field] === undefined ? [] : [[field, next[field]] as const]));
  return Object.fromEntries(ordered) as unknown as KnownHook;
}

const fieldOrder = [
  'url',
  'description',
  'streams',
  'types',
  'entity',
  'status',
  'disabledReason',
  'createdAt',
  'epoch',
  'secret',
  'key',
  'previousUntil',
  'positions',
  'waiting',
  'pausedUntil',
  'delivered',
  'failed',
  'lastDeliveredAt',
  'lastFailure',
] as const satisfies readonly (keyof KnownHook)[];

/** Positions with some of them replaced; only streams that are followed have one. */
export function withPositions(
  hook: Pick<KnownHook, 'streams' | 'positions'>,
  newer: readonly HookPosition[],
): HookPosition[] {
  const known = new Map([...hook.positions, ...newer].map((one) => [one.stream, one]));
  return hook.streams.map((stream) => known.get(stream) ?? { stream, sequence: 0 });
}
