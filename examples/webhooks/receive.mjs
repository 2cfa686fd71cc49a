// node receive.mjs 9000 whsec_… : prints the events that a webhook sends, once their signature is right.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const [port, secret] = process.argv.slice(2);
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');

const server = createServer(async (request, response) => {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' } = request.headers;
  const body = Buffer.concat(await Array.fromAsync(request));
  const right = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest();
  const isRight = signatures.split(' ').some((one) => {
    const sent = Buffer.from(one.replace('v1,', ''), 'base64');
    return sent.length === right.length && timingSafeEqual(sent, right);
  });
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  if (isRight && isRecent) console.log(body.toString());
  response.writeHead(isRight && isRecent ? 204 : 401).end();
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
