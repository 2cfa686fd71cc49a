import { startAdmin } from './admin.ts';
import type { Context } from './context.ts';
import { startOperations } from './operations.ts';
import { type Part, type Role, urlOf } from './role.ts';

/**
 * The administration, the parts of each role once the role before it runs, and operations where no role shows them;
 * `running` grows with them.
 */
export async function* startRoles(
  context: Context,
  roles: readonly Role[],
  running: readonly Part[],
): AsyncGenerator<Part> {
  const started = roles.map((role) => role.start({ ...context, running }));
  yield await startAdmin({ ...context, running });
  for (const parts of started) yield* parts;
  if (urlOf(running, 'readiness') === undefined) yield await startOperations({ ...context, running });
}
