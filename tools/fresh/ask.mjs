import { request } from 'node:http';
import { connect } from 'node:net';

const ANSWER_WITHIN_MS = 10_000;

/** Asks one address in the way of its scheme; returns what it said, or throws. */
export async function ask(address) {
  const { protocol, hostname, port } = new URL(address);
  if (protocol === 'ws:') return handshake(address);
  if (protocol === 'nats:') return greeting(hostname, Number(port));
  const response = await fetch(address, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  await response.arrayBuffer();
  const isNotReadyYet = response.status === 503 && address.endsWith('/readyz');
  if (response.status >= 500 && !isNotReadyYet) throw new Error(`${address} answered ${response.status}`);
  return response.status;
}

/** The status of a GET and its JSON body, if it has one; status 0 while nobody listens. */
export async function get(address) {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const text = await response.text();
    return { status: response.status, body: parsed(text) };
  } catch {
    return { status: 0, body: undefined };
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A WebSocket's address answers an upgrade with 101. */
function handshake(address) {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  return new Promise((resolve, reject) => {
    const asking = request(address.replace(/^ws/, 'http'), { headers, timeout: ANSWER_WITHIN_MS });
    asking.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode);
    });
    asking.on('response', ({ statusCode }) => reject(new Error(`${address} answered ${statusCode}`)));
    asking.on('timeout', () => asking.destroy(new Error(`${address} did not answer`)));
    asking.on('error', reject);
    asking.end();
  });
}

/** nats-server greets every connection with INFO. */
function greeting(host, port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: ANSWER_WITHIN_MS });
    socket.on('data', (data) => {
      socket.destroy();
      if (data.toString().startsWith('INFO ')) resolve('INFO');
      else reject(new Error(`${host}:${port} is no nats-server`));
    });
    socket.on('timeout', () => socket.destroy(new Error(`${host}:${port} did not answer`)));
    socket.on('error', reject);
  });
}
