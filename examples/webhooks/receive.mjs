// node receive.mjs 9000 whsec_… : prints the events that a webhook sends, once their signature is right. In place
// of the secret of a webhook it takes the public key of the sender, whpk_… To the sender's question whether events are
// expected here it says yes.
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import { createServer } from 'node:http';

const [port, given] = process.argv.slice(2);
if (!/^\d{1,5}$/.test(port ?? '') || !/^wh(sec|pk)_/.test(given ?? '')) {
  console.error('usage: node receive.mjs <port> <secret or public key>, such as: node receive.mjs 9000 whsec_…');
  process.exit(2);
}
const [kind, text] = given.split('_');
const bytes = Buffer.from(text, 'base64');
const key =
  kind === 'whpk' &&
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });

function isSignature(one, content) {
  const [version, signature] = one.split(',');
  const sent = Buffer.from(signature ?? '', 'base64');
  if (key) return version === 'v1a' && verify(null, content, key, sent);
  const right = createHmac('sha256', bytes).update(content).digest();
  return version === 'v1' && sent.length === right.length && timingSafeEqual(sent, right);
}

async function receive(request, response) {
  const origin = request.headers['webhook-request-origin'];
  if (request.method === 'OPTIONS' && origin) {
    response.writeHead(204, { allow: 'POST', 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*' }).end();
    return;
  }
  const header = (name) => String(request.headers[`webhook-${name}`]);
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const content = Buffer.concat([Buffer.from(`${header('id')}.${header('timestamp')}.`), body]);
  const isRight = header('signature')
    .split(' ')
    .some((one) => isSignature(one, content));
  const isRecent = Math.abs(Date.now() / 1000 - Number(header('timestamp'))) < 300;
  if (isRight && isRecent) console.log(body.toString());
  response.writeHead(isRight && isRecent ? 204 : 401).end();
}

const server = createServer((request, response) => void receive(request, response));
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
