// node receive.mjs 9000 whsec_… : prints the events that a webhook sends, once their signature is right.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const [port, secret] = process.argv.slice(2);
if (!/^\d{1,5}$/.test(port ?? '') || !secret?.startsWith('whsec_')) {
  console.error('usage: node receive.mjs <port> <secret>, such as: node receive.mjs 9000 whsec_…');
  process.exit(2);
}
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');

async function receive(request, response) {
  const header = (name) => String(request.headers[`webhook-${name}`]);
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const right = createHmac('sha256', key)
    .update(`${header('id')}.${header('timestamp')}.`)
    .update(body)
    .digest();
  const isRight = header('signature')
    .split(' ')
    .map((one) => Buffer.from(one.replace('v1,', ''), 'base64'))
    .some((sent) => sent.length === right.length && timingSafeEqual(sent, right));
  const isRecent = Math.abs(Date.now() / 1000 - Number(header('timestamp'))) < 300;
  if (isRight && isRecent) console.log(body.toString());
  response.writeHead(isRight && isRecent ? 204 : 401).end();
}

const server = createServer((request, response) => void receive(request, response));
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
