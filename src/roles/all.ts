import type { Config } from '../config.ts';
import type { RoleName } from '../role-names.ts';
import { roleNames } from '../role-names.ts';
import type { Role } from './role.ts';

/**
 * Loads the module of a role; a name without one does not compile.
 *
 * A process loads those of its own roles alone: all of them take three times what most need by themselves.
 */
export const roles: { readonly [Name in RoleName]: () => Promise<Role & Readonly<{ name: Name }>> } = {
  ledger: async () => (await import('./ledger.ts')).ledger,
  projector: async () => (await import('./projector.ts')).projector,
  auditor: async () => (await import('./auditor.ts')).auditor,
  evm: async () => (await import('./evm.ts')).evm,
  node: async () => (await import('./node.ts')).node,
  gateway: async () => (await import('./gateway.ts')).gateway,
  indexer: async () => (await import('./indexer.ts')).indexer,
};

/** The roles that a process is to run, in the order of their start. */
export async function configuredRoles(config: Pick<Config, 'roles'>): Promise<Role[]> {
  const names = roleNames.filter((name) => config.roles.includes(name));
  return await Promise.all(names.map(async (name): Promise<Role> => await roles[name]()));
}
