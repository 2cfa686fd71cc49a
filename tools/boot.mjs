/**
 * Makes a fresh clone run: finds or fetches a Node that is new enough, brings node_modules up to date with the lock,
 * and hands over to the program. Plain JavaScript without dependencies for Node 18 and later.
 *
 *   node tools/boot.mjs                        prepares, nothing else
 *   node tools/boot.mjs shell                  prints how a shell becomes the command line (this is what ./annals does)
 *   node tools/boot.mjs dev                    the same with `up`, restarted whenever a source changes
 *   node tools/boot.mjs bin <package[:bin]> …  a program of an installed package
 *   node tools/boot.mjs run <file.mjs> …       a script of this repository
 */
import { ensureBundle } from './boot/bundle.mjs';
import { ensureDependencies } from './boot/dependencies.mjs';
import { handOver } from './boot/hand-over.mjs';
import { ensureNode } from './boot/node.mjs';
import { say } from './boot/progress.mjs';
import { shellCommand } from './boot/shell.mjs';
import { targetArguments } from './boot/target.mjs';

try {
  const node = await ensureNode();
  await ensureDependencies(node);
  await ensureBundle(node);
  const asked = process.argv.slice(2);
  const target = targetArguments(asked);
  if (asked[0] === 'shell') process.stdout.write(shellCommand(node, target));
  else if (target) handOver(node, target);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
