import type { Config } from '../config.ts';
import { auditor } from './auditor.ts';
import { evm } from './evm.ts';
import { gateway } from './gateway.ts';
import { indexer } from './indexer.ts';
import { ledger } from './ledger.ts';
import type { RoleName } from '../role-names.ts';
import { roleNames } from '../role-names.ts';
import { node } from './node.ts';
import { projector } from './projector.ts';
import type { Role } from './role.ts';

/** The module of every role; a name without one does not compile. */
export const roles: { readonly [Name in RoleName]: Role & Readonly<{ name: Name }> } = {
  ledger,
  projector,
  auditor,
  evm,
  node,
  gateway,
  indexer,
};

/** The roles that a process is to run, in the order of their start. */
export function configuredRoles(config: Pick<Config, 'roles'>): Role[] {
  return roleNames.filter((name) => config.roles.includes(name)).map((name) => roles[name]);
}
