import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { sendInTurns } from '../../../src/edges/http/plain-server.ts';

it('sends a long body as it is, wherever its pieces end', async () => {
  const bodies = [0, 1].map((before) =>
    JSON.stringify([' '.repeat(before), '\u{1f600}'.repeat(100_000), 'é'.repeat(70_000)]),
  );
  const server = createServer(
    (request, response) => void sendInTurns(response, 200, bodies[Number(request.url?.slice(1))] ?? ''),
  );
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  for (const [at, body] of bodies.entries()) {
    const answer = await fetch(`http://127.0.0.1:${port}/${at}`);
    expect(Number(answer.headers.get('content-length'))).toBe(Buffer.byteLength(body));
    expect((await answer.text()) === body).toBe(true);
  }
});
