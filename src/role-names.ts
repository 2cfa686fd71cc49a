/**
 * What decides whether a role runs where `ROLES` is unset: whether the chain is the local one, and which variables are
 * set.
 */
type Surroundings = Readonly<{ isLocal: boolean; isSet: (variable: string) => boolean }>;

type Named = Readonly<{
  /** The purpose of the role, for the help. */
  does: string;
  runsUnasked: (where: Surroundings) => boolean;
  /** The remedy for an operator who misses the role. */
  remedy?: string;
}>;

/** The parts of the program that a process can run, in the order in which they start; their modules are in `all.ts`. */
export const roleTable = {
  ledger: {
    does: 'the local network’s chain, and what happens there',
    runsUnasked: ({ isLocal }) => isLocal,
  },
  projector: { does: 'every read model and the archive of the log', runsUnasked: () => true },
  auditor: {
    does: 'compares the log with its archive and every read model with the log, and repairs',
    runsUnasked: () => true,
  },
  evm: {
    does: 'the EVM’s JSON-RPC of the local network’s chain',
    runsUnasked: ({ isLocal }) => isLocal,
  },
  node: {
    does: 'a SuperNode: its status over RPC and HTTP; on the local network, its SuperNodes',
    runsUnasked: ({ isLocal, isSet }) => isLocal || isSet('NODE_KEY_FILE'),
  },
  gateway: {
    does: 'uploads and downloads of files between people and SuperNodes',
    runsUnasked: ({ isLocal, isSet }) => isLocal || isSet('GATEWAY_KEY_FILE'),
    remedy: 'set GATEWAY_KEY_FILE to the file with the private key of its account',
  },
  indexer: { does: 'sync with the chain, probes of SuperNodes, the indexing REST API', runsUnasked: () => true },
} as const satisfies Readonly<Record<string, Named>>;

/** Name of a role, as written in `ROLES`. */
export type RoleName = keyof typeof roleTable;

/** Every name, in the order of the start. */
export const roleNames = Object.keys(roleTable) as readonly RoleName[];

/** Notes about roles that most users want and that do not run; `unasked` are the roles that run by default. */
export function missedRoles(unasked: readonly RoleName[]): string[] {
  return roleNames
    .filter((name) => !unasked.includes(name))
    .flatMap((name) => {
      const { remedy }: Named = roleTable[name];
      return remedy === undefined ? [] : [`the role ${name} does not run: ${remedy}`];
    });
}

/** The roles that run where `ROLES` is unset. */
export function rolesUnasked(where: Surroundings): readonly RoleName[] {
  return roleNames.filter((name) => roleTable[name].runsUnasked(where));
}
