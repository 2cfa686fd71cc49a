import { startAdmin } from './admin.ts';
import { configuredRoles } from './all.ts';
import type { Context } from './context.ts';
import { startOperations } from './operations.ts';
import { type Part, urlOf } from './role.ts';

/**
 * The administration, the parts of each configured role once the role before it runs, and operations where no role
 * shows them; `running` grows with them.
 */
export async function* startRoles(context: Context, running: readonly Part[]): AsyncGenerator<Part> {
  const roles = await configuredRoles(context.config);
  const started = roles.map((role) => role.start({ ...context, running }));
  yield await startAdmin({ ...context, running });
  for (const parts of started) yield* parts;
  if (urlOf(running, 'readiness') === undefined) yield await startOperations({ ...context, running });
}
