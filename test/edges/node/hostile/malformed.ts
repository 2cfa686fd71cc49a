import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { createECDH } from 'node:crypto';
import { signedHelloBytes } from '../../../../src/edges/rpc/channel/parts.ts';
import { writeHello } from '../../../../src/edges/rpc/channel/hello.ts';
import type { Random } from '../../../../src/edges/local-network/random.ts';
import { type Attack, sendRaw } from './attack.ts';
import { negotiations, questions } from './malformed-peers.ts';
import { developmentAccounts } from '../../../../src/edges/local-network/development-accounts.ts';

/** INTERNAL and UNKNOWN blame us for what a client sent. */
const ourFaults = [2, 13];

/** What is wrong with an answer of HTTP/1.1, or with bytes that are none. */
export function faultInHttp1(answer: string): string | undefined {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  const grpc = Number(/grpc-status: ?(\d+)/i.exec(answer)?.[1] ?? 0);
  if (status >= 500 && status !== 501 && status !== 505) return `HTTP ${status}`;
  if (/"code":"(internal|unknown)"/.test(answer)) return answer.slice(-200);
  return ourFaults.includes(grpc) ? `gRPC ${grpc}` : undefined;
}

const garbage: Attack = async (target, random) =>
  faultInHttp1(await sendRaw(target, random.bytes(random.between(1, 300))));

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

/** The beginning of HTTP/2 and frames that have the form of frames alone. */
const frames: Attack = async (target, random) => {
  const made = Array.from({ length: random.between(1, 6) }, () => {
    const payload = random.bytes(random.between(0, 60));
    const header = Buffer.alloc(9);
    header.writeUIntBE(random.pick([payload.length, payload.length, random.between(0, 2 ** 24 - 1)]), 0, 3);
    header.writeUInt8(random.between(0, 12), 3);
    header.writeUInt8(random.between(0, 255), 4);
    header.writeUInt32BE(random.pick([0, 1, 3, 2, random.between(0, 2 ** 31)]), 5);
    return Buffer.concat([header, payload]);
  });
  await sendRaw(target, Buffer.concat([preface, random.pick([emptySettings, Buffer.alloc(0)]), ...made]));
  return undefined;
};

const methods = [
  '/supernode.SupernodeService/GetStatus',
  '/chain.supernode.v1.SupernodeService/ListServices',
  '/cascade.CascadeService/Register',
  '/cascade.CascadeService/Download',
  '/grpc.health.v1.Health/Check',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/no.Service/Method',
  '/',
] as const;
const types = [
  'application/grpc',
  'application/grpc+proto',
  'application/grpc+json',
  'application/grpc-web+proto',
  'application/grpc-web-text',
  'application/connect+proto',
  'application/proto',
  'application/json',
  'text/plain',
] as const;

function envelope(random: Random): Buffer {
  const message = random.bytes(random.between(0, 40));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(random.pick([0, 0, 0, 1, 2, 128, random.between(0, 255)]), 0);
  prefix.writeUInt32BE(random.pick([message.length, message.length, random.between(0, 2 ** 32 - 1)]), 1);
  return random.pick([Buffer.concat([prefix, message]), Buffer.concat([prefix, message]), message]);
}

/** A call as HTTP/2 has it, whose headers or messages are wrong. */
const calls: Attack = async ({ host, port }, random) => {
  const session = connectHttp2(`http://${host}:${port}`);
  session.on('error', () => undefined);
  const [path, type] = [random.pick(methods), random.pick(types)];
  const headers = {
    ':method': random.pick(['POST', 'POST', 'POST', 'POST', 'GET', 'PUT']),
    ':path': path,
    'content-type': type,
    ...(random.between(0, 3) === 0 && { 'grpc-timeout': random.pick(['1x', '-5S', '99999999999S', '', '1m']) }),
    ...(random.between(0, 3) === 0 && { 'grpc-encoding': random.pick(['gzip', 'br', 'é']) }),
    ...(random.between(0, 5) === 0 && { 'connect-protocol-version': random.pick(['0', '1', 'x']) }),
    ...(random.between(0, 5) === 0 && { 'content-encoding': 'gzip' }),
  };
  const body = Buffer.concat(Array.from({ length: random.between(0, 3) }, () => envelope(random)));
  const said = await callOf(session, headers, body);
  session.destroy();
  return said && `${headers[':method']} ${path} ${type} ${body.toString('hex').slice(0, 80)}: ${said}`;
};

async function callOf(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body: Buffer,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const answered: { ':status'?: number; 'grpc-status'?: string; 'grpc-message'?: string } = {};
  let text = '';
  const note = (more: object): void => void Object.assign(answered, more);
  try {
    const stream = session.request(headers);
    stream
      .on('response', note)
      .on('trailers', note)
      .on('error', () => undefined);
    stream.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    stream.on('close', () => {
      const status = answered[':status'] ?? 0;
      const code = Number(answered['grpc-status'] ?? /grpc-status: ?(\d+)/.exec(text)?.[1] ?? 0);
      if (status >= 500 && status !== 501) resolve(`HTTP ${status} ${text}`);
      else if (ourFaults.includes(code)) resolve(`gRPC ${code} ${answered['grpc-message'] ?? text}`);
      else resolve(/"code":"(internal|unknown)"/.test(text) ? text : undefined);
    });
    stream.end(body);
  } catch {
    // Headers that Node's own client does not send reach nobody.
    resolve(undefined);
  }
  return await promise;
}

/** A request of HTTP/1.1 that is one almost. */
const requests: Attack = async (target, random) => {
  const method = random.pick(['GET', 'POST', 'post', 'BREW', 'OPTIONS', 'HEAD', '']);
  const path = random.pick([
    ...methods,
    '/api/v1/status',
    '/api/v1/services?x=%zz',
    '//',
    '/%00',
    '*',
    'http://[',
    '/é',
  ]);
  const version = random.pick(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9.9', 'HTTQ/1.1']);
  const lines = Array.from({ length: random.between(0, 4) }, () =>
    random.pick([
      `content-type: ${random.pick(types)}`,
      `content-length: ${random.pick(['5', '-1', 'x', '99999999999999999999', '0'])}`,
      'transfer-encoding: chunked',
      'transfer-encoding: gzip',
      'expect: 100-continue',
      'upgrade: h2c\r\nconnection: upgrade',
      `x-long: ${'y'.repeat(random.pick([10, 20_000]))}`,
      'no colon',
      ': no name',
      `host: ${random.pick(['a', '', '[', 'a b'])}`,
      'connect-protocol-version: 2',
      'content-encoding: br',
    ]),
  );
  const host = random.between(0, 4) === 0 ? [] : ['host: node'];
  const body = random.pick(['', '{}', '5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', '{"includeP2pMetrics":7}', '\0\0\0\0\xff']);
  const text = `${method} ${path} ${version}\r\n${[...host, ...lines, 'connection: close'].join('\r\n')}\r\n\r\n${body}`;
  const fault = faultInHttp1(await sendRaw(target, Buffer.from(text, 'latin1')));
  return fault && `${text.slice(0, 200)}: ${fault}`;
};

/** A handshake of the secure channel with bytes changed, cut off or made up. */
const hellos: Attack = async (target, random) => {
  const { key } = random.pick(developmentAccounts() as unknown as readonly [ReturnType<typeof developmentAccounts>[0]]);
  const point = createECDH('prime256v1').generateKeys();
  const hello = signedHelloBytes(writeHello(key, random.pick(['client', 'superNode']), point));
  const spoiled = Buffer.from(hello);
  for (let times = random.between(1, 4); times > 0; times -= 1) spoiled[random.between(4, hello.length - 1)] = 255;
  const bytes = random.pick([
    spoiled,
    hello.subarray(0, random.between(1, hello.length - 1)),
    Buffer.concat([Buffer.from([0]), random.bytes(random.between(3, 200))]),
  ]);
  const answer = await sendRaw(target, bytes);
  return answer === '' ? undefined : `a hello that does not hold is answered with ${answer.length} bytes`;
};

/** What each port of a node is attacked with. */
export const attacks: Readonly<Record<'grpc' | 'http' | 'p2p', readonly [Attack, ...Attack[]]>> = {
  grpc: [garbage, frames, calls, calls, requests, hellos],
  http: [garbage, requests, requests],
  p2p: [garbage, negotiations, questions],
};
