import type { Fact } from '../../../src/events/catalogue.ts';
import type { ActionFilter } from '../../../src/projections/actions/action-list.ts';
import { actions } from '../../../src/projections/actions/actions.ts';
import { availability } from '../../../src/projections/fleet/availability.ts';
import type { CurrentState, FleetFilter } from '../../../src/projections/fleet/fleet.ts';
import { supernodes } from '../../../src/projections/fleet/supernodes.ts';
import type { ActionRow, AvailabilityRow, SuperNodeRow, ValidatorRow } from '../../../src/projections/tables.ts';
import { validators } from '../../../src/projections/fleet/validators.ts';
import { rowsOf } from '../histories/load-projection.ts';

/** All rows of a small network: what the queries must answer from. */
export type World = Readonly<{
  actions: readonly ActionRow[];
  nodes: readonly SuperNodeRow[];
  validators: ReadonlyMap<string, ValidatorRow>;
  availability: ReadonlyMap<string, AvailabilityRow>;
}>;

/** The rows that the projections make of a history. */
export function worldOf(facts: readonly Fact[]): World {
  return {
    actions: rowsOf(actions, facts),
    nodes: rowsOf(supernodes, facts),
    validators: new Map(rowsOf(validators, facts).map((row) => [row.id, row])),
    availability: new Map(rowsOf(availability, facts).map((row) => [row.id, row])),
  };
}

/**
 * The operator of an account at a height (null: today), found by looking at every node's history.
 *
 * A stated period comes before one that only reaches back from an operator's first account.
 */
export function ownerOf(nodes: readonly SuperNodeRow[], account: string, height: number | null): string | undefined {
  const at = height ?? Infinity;
  const claims = nodes.flatMap(({ id, accounts }) =>
    accounts.map((entry, place) => {
      const until = accounts[place + 1]?.height ?? Infinity;
      const isOpen = at < until || until === Infinity;
      const isStated = entry.account === account && isOpen && entry.height <= at;
      const reachesBack = entry.account === account && isOpen && place === 0 && at < entry.height;
      return { operator: id, height: entry.height, isStated, reachesBack };
    }),
  );
  const stated = claims.filter((claim) => claim.isStated).toSorted((a, b) => b.height - a.height);
  const back = claims.filter((claim) => claim.reachesBack).toSorted((a, b) => a.height - b.height);
  return (stated[0] ?? back[0])?.operator;
}

/** The actions that a filter keeps, the newest first. */
export function filtered(world: World, filter: ActionFilter): ActionRow[] {
  const { type, creator, state, supernode, fromHeight, toHeight, dataHash } = filter;
  const isBy = (row: ActionRow) => {
    if (!supernode) return true;
    if ('account' in supernode) return row.accounts.includes(supernode.account);
    return row.accounts.some((account) => ownerOf(world.nodes, account, finalizedAt(row)) === supernode.operator);
  };
  const isInRange = ({ height }: ActionRow) => {
    if (fromHeight === undefined && toHeight === undefined) return true;
    return height !== null && height >= (fromHeight ?? -Infinity) && height <= (toHeight ?? Infinity);
  };
  return world.actions
    .filter(
      (row) =>
        (type ?? row.type) === row.type &&
        (creator ?? row.creator) === row.creator &&
        (state ?? row.status) === row.status &&
        (dataHash?.includes(row.data_hash ?? '') ?? true),
    )
    .filter((row) => isBy(row) && isInRange(row))
    .toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1));
}

/** The height at which an action's accounts count as somebody's. */
export const finalizedAt = ({ finalize_tx, height }: ActionRow) => finalize_tx?.height ?? height;

/** Ids of the nodes that a filter keeps, bytewise. */
export function nodesThatFit(world: World, filter: FleetFilter): string[] {
  const { status, currentState, version, minFailedProbeCounter } = filter;
  return world.nodes
    .filter((node) => {
      const probe = world.availability.get(node.id);
      if (status !== undefined && status !== (probe?.available ? 'available' : 'unavailable')) return false;
      if (version !== undefined && probe?.version !== version) return false;
      if ((probe?.failed_probe_counter ?? 0) < (minFailedProbeCounter ?? 0)) return false;
      return isIn(node, world.validators.get(node.id), currentState);
    })
    .map(({ id }) => id)
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

function isIn(node: SuperNodeRow, validator: ValidatorRow | undefined, state: CurrentState | undefined): boolean {
  if (!state) return true;
  if (state.family === 'supernode') return node.state === state.value;
  if (state.family === 'validator') return validator?.status === state.value;
  return validator?.jailed === true;
}
