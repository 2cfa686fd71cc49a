/**
 * Healthy nodes behind three ports of this machine, in a process of their own; tells the ports and lives as long as its
 * parent.
 */
import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, createServer, type Server as TcpServer } from 'node:net';
import answers from '../test/fixtures/node-status/answers.json' with { type: 'json' };

/** A real node takes this long for its status. */
const statusMs = 1_000;
const backlog = 4_096;
const { headers, body } = answers['status-p2p-snake'];

const http = createHttpServer(
  (_, response) => void setTimeout(() => response.writeHead(200, { ...headers }).end(body), statusMs),
);
const silent = () => createServer((socket) => socket.on('error', () => undefined).resume());
const ports = await Promise.all([silent(), silent(), http].map(portOf));
process.send?.(ports);
process.once('disconnect', () => process.exit());

function portOf(server: Server | TcpServer): Promise<number> {
  return new Promise((resolve) => {
    server.listen({ host: '127.0.0.1', port: 0, backlog }, () => resolve((server.address() as AddressInfo).port));
  });
}
