import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { checkConsistency } from '../../../../src/edges/http/pages/public/verify.js';
import { parseWitnesses, type Witness } from '../../../../src/engine/archive/proof/witnesses.ts';

/** A witness over HTTP, as C2SP tlog-witness has it, but for the signature of the log, which it does not check. */
export type WitnessUnderTest = Readonly<{
  witness: Witness;
  /** Size and root that it signed last of each origin. */
  signed: Map<string, Readonly<{ size: number; root: Buffer }>>;
  /** Statuses of its answers, by origin. */
  answers: Map<string, number[]>;
  /** What it answers instead, while there is one. */
  instead: { status?: number };
}>;

/** Starts a witness until the test ends. */
export async function startWitness(name = 'witness.example'): Promise<WitnessUnderTest> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const tagged = Buffer.concat([Buffer.of(4), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)]);
  const keyId = createHash('sha256').update(`${name}\n`).update(tagged).digest().subarray(0, 4);
  const signed: WitnessUnderTest['signed'] = new Map();
  const answers: WitnessUnderTest['answers'] = new Map();
  const instead: WitnessUnderTest['instead'] = {};

  const answer = async (body: string): Promise<readonly [number, string]> => {
    if (instead.status !== undefined) return [instead.status, ''];
    const [head = '', ...rest] = body.split('\n\n');
    const note = rest.join('\n\n');
    const [oldLine = '', ...proof] = head.split('\n');
    const signedText = note.slice(0, note.lastIndexOf('\n\n') + 1);
    const [origin = '', sizeText = '', rootText = ''] = signedText.split('\n');
    const last = signed.get(origin) ?? { size: 0, root: Buffer.alloc(0) };
    if (oldLine !== `old ${last.size}`) return [409, `${last.size}\n`];
    const [size, root] = [Number(sizeText), Buffer.from(rootText, 'base64')];
    const hashes = proof.map((line) => Buffer.from(line, 'base64'));
    try {
      if (last.size > 0) await checkConsistency({ old: last.size, size, oldRoot: last.root, root, hashes });
    } catch {
      return [422, ''];
    }
    signed.set(origin, { size, root });
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(1_800_000_000n);
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime 1800000000\n${signedText}`), privateKey);
    return [200, `\u2014 ${name} ${Buffer.concat([keyId, time, signature]).toString('base64')}\n`];
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const [status, content] = request.url === '/w/add-checkpoint' ? await answer(body) : [404, ''];
    const origin = body.split('\n\n')[1]?.split('\n')[0] ?? '';
    answers.set(origin, [...(answers.get(origin) ?? []), status]);
    response.writeHead(status).end(content);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const setting = `${name}+${keyId.toString('hex')}+${tagged.toString('base64')} http://127.0.0.1:${port}/w/`;
  const [witness] = parseWitnesses(setting);
  if (!witness) throw new Error('The setting names no witness');
  return { witness, signed, answers, instead };
}
