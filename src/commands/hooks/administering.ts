import type { FactOf } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';
import { changed, hookAfter, type HookPosition, type KnownHook, withPositions } from './hook-state.ts';

/** What a hook sends, and where. */
export type HookFilter = Pick<KnownHook, 'url' | 'description' | 'streams' | 'types'> &
  Readonly<{ entity?: string | undefined }>;

/** An act of an operator on a hook; `positions` are the ends of streams that it follows from now on. */
export type HookAct = Readonly<{ hook: string; at: string }> &
  (
    | Readonly<{ act: 'register'; filter: HookFilter; key: string; positions: readonly HookPosition[] }>
    | Readonly<{ act: 'change'; filter: Partial<HookFilter>; positions: readonly HookPosition[] }>
    | Readonly<{ act: 'rotate'; key: string; previousUntil: string | undefined }>
    | Readonly<{ act: 'replay'; positions: readonly HookPosition[] }>
    | Readonly<{ act: 'enable' | 'disable' | 'remove' }>
  );

type State = KnownHook | undefined;

/** Decides acts of operators; of a hook that was removed, or never registered, nothing is decided. */
export const administering: Decider<HookAct, State, 'hook'> = {
  kind: 'hook',
  initialState: undefined,
  after: hookAfter,
  decide: (command, state) => {
    if (command.act === 'register') return state ? [] : [registered(command)];
    if (!state || state.status === 'removed') return [];
    const fact = decided(command, { ...state, epoch: state.epoch + 1 });
    return fact ? [fact] : [];
  },
};

/** Carries out acts of operators on hooks. */
export class AdministerHooks extends Command<HookAct, State> {}

function registered({ hook, at, filter, key, positions }: Extract<HookAct, { act: 'register' }>): FactOf<'hook'> {
  const empty: KnownHook = {
    ...filter,
    entity: '',
    status: 'enabled',
    createdAt: at,
    epoch: 1,
    secret: 1,
    key,
    positions: [],
    waiting: [],
    delivered: 0,
    failed: 0,
  };
  const known = changed(empty, { entity: filter.entity, positions: withPositions(empty, positions) });
  return { type: 'HookRegistered', data: { hook, at, known } };
}

function decided(command: Exclude<HookAct, { act: 'register' }>, known: KnownHook): FactOf<'hook'> | undefined {
  const { hook, at } = command;
  switch (command.act) {
    case 'change':
      return { type: 'HookChanged', data: { hook, at, known: filtered(known, command) } };
    case 'rotate':
      return { type: 'HookSecretRotated', data: { hook, at, known: rotated(known, command) } };
    case 'replay':
      return {
        type: 'HookReplayed',
        data: { hook, at, positions: command.positions, known: replayed(known, command.positions) },
      };
    case 'enable':
      return { type: 'HookEnabled', data: { hook, at, known: enabled(known, at) } };
    case 'disable': {
      if (known.status === 'disabled') return undefined;
      const disabled = changed(known, { status: 'disabled', disabledReason: 'operator' });
      return { type: 'HookDisabled', data: { hook, at, reason: 'operator', known: disabled } };
    }
    case 'remove': {
      const gone = { url: '', description: '', status: 'removed', positions: [], waiting: [], lastFailure: undefined };
      return { type: 'HookRemoved', data: { hook, at, known: changed(known, gone) } };
    }
  }
}

/** Another filter; a stream that is new starts at its end, and entities of one that is left do not wait any more. */
function filtered(known: KnownHook, { filter, positions }: Extract<HookAct, { act: 'change' }>): KnownHook {
  const next = changed(known, filter);
  const fresh = positions.filter(({ stream }) => !known.positions.some((one) => one.stream === stream));
  return changed(next, {
    positions: withPositions(next, fresh),
    waiting: known.waiting.filter(
      ({ stream, entity }) => next.streams.includes(stream) && (next.entity ?? entity) === entity,
    ),
  });
}

/** The next secret, of the key that is there now; one of another key cannot be used beside it. */
function rotated(known: KnownHook, { key, previousUntil }: Extract<HookAct, { act: 'rotate' }>): KnownHook {
  return changed(known, {
    secret: known.secret + 1,
    key,
    previousUntil: key === known.key ? previousUntil : undefined,
  });
}

function replayed(known: KnownHook, positions: readonly HookPosition[]): KnownHook {
  const isReplayed = (name: string): boolean => positions.some(({ stream }) => stream === name);
  return changed(known, {
    positions: withPositions(known, positions),
    waiting: known.waiting.filter(({ stream }) => !isReplayed(stream)),
  });
}

/** Whatever waits is due at once, its attempts counted anew. */
function enabled(known: KnownHook, at: string): KnownHook {
  return changed(known, {
    status: 'enabled',
    disabledReason: undefined,
    pausedUntil: undefined,
    waiting: known.waiting.map((one) => ({ ...one, attempts: 0, since: at, nextAt: at })),
  });
}
