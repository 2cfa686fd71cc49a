import { spawn } from 'node:child_process';

/** Installs exactly what the lock in `folder` says; fails with npm's own last words. */
export async function npmCi(folder, env = process.env) {
  const args = ['ci', '--prefer-offline', '--loglevel=error', '--no-progress'];
  const child = spawn('npm', args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const code = await new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`Cannot run npm: ${error.message}`)));
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`npm ci failed in ${folder}:\n${output.trim().split('\n').slice(-15).join('\n')}`);
}
