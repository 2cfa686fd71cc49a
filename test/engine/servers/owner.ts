/** Owns a data folder with both servers, as the program does; says where they are, then lives until it is killed. */
import path from 'node:path';
import { lockDir } from '../../../src/engine/servers/lock.ts';
import { startNats } from '../../../src/engine/servers/nats/nats-server.ts';
import { startPostgres } from '../../../src/engine/servers/postgres/postgres.ts';

const dir = process.argv[2] ?? '';
const say = (message: string) => void process.stderr.write(`${message}\n`);
try {
  await lockDir(dir);
  const [postgres, nats] = await Promise.all([
    startPostgres({ dir: path.join(dir, 'db'), say }),
    startNats({ dir: path.join(dir, 'nats'), host: '127.0.0.1', port: 0, wsPort: 0, say }),
  ]);
  console.log(JSON.stringify({ postgres: postgres.pid, nats: nats.pid, config: postgres.config, url: nats.url }));
  process.stdin.resume();
} catch (error) {
  console.log(JSON.stringify({ refused: error instanceof Error ? error.message : String(error) }));
}
