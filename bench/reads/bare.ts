import { createServer } from 'node:http';
import type pg from 'pg';
import { createPools } from '../../src/engine/models/pool.ts';

// As little as a server before a database can do, as a process of its own: `select 1` for every request. What it takes
// is the machine.
const [, , config = '{}'] = process.argv;
const { read } = createPools(JSON.parse(config) as pg.ClientConfig, { applicationName: 'bare' });
const server = createServer((_request, response) => {
  const answer = (status: number) =>
    void response.writeHead(status, { 'content-type': 'application/json', 'content-length': 2 }).end('{}');
  read.query({ name: 'one', text: 'select 1' }).then(
    () => answer(200),
    () => answer(503),
  );
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address) process.send?.(`http://127.0.0.1:${address.port}`);
});
