import { ask } from '../commands.ts';

/** Whom PostgreSQL runs as: what is put before its command line, and the ids to switch to. */
export type Identity = Readonly<{
  mode: 'self' | 'namespace' | 'setuid';
  wrap: readonly string[];
  uid?: number | undefined;
  gid?: number | undefined;
}>;

const NAMESPACE = ['unshare', '--map-user=65534', '--map-group=65534'] as const;

/**
 * PostgreSQL refuses to run as root. As root it gets a user namespace that shows uid 0 under another number, so files
 * stay root's and no account is needed; where such namespaces are refused it runs as `postgres` or `nobody`.
 *
 * A cluster made in one mode is unreadable in the other: pass the mode it was made in as `required`.
 */
export async function postgresIdentity(required?: string): Promise<Identity> {
  if (process.getuid?.() !== 0) return { mode: 'self', wrap: [] };
  const [unshare, ...args] = NAMESPACE;
  if (required !== 'setuid' && (await ask(unshare, ...args, 'true')) !== undefined) {
    return { mode: 'namespace', wrap: NAMESPACE };
  }
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([ask('id', '-u', user), ask('id', '-g', user)]);
    if (uid && gid) return { mode: 'setuid', wrap: [], uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('Cannot run PostgreSQL as root here: run as an ordinary user, or set DB_DSN to a server of yours');
}
