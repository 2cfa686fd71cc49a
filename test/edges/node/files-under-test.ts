import { blake3 } from '@noble/hashes/blake3.js';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { createDataHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { registrationMetadata } from '../../../src/edges/chain/files/registration.ts';
import { signerAt } from '../../support/callers/signer-at.ts';
import { sign } from '../../../src/edges/chain/sign/keys.ts';
import { CascadeService, type SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import type { CascadeOptions } from '../../../src/edges/node/cascade/cascade.ts';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { hashPiece, pieceBytes } from '../../../src/edges/node/storage/piece-hash.ts';
import type { Manifest } from '../../../src/edges/node/storage/manifest.ts';
import { castOf, type Person } from '../../../src/edges/local-network/cast.ts';
import { seed } from '../ledger/ledger-under-test.ts';

export const [creator, stranger] = castOf(seed).creators as unknown as readonly [Person, Person];

/** Bytes that look like no others of the same seed letter, and the same ones each time. */
export function bytesOf(letter: string, size: number): Buffer {
  const bytes = Buffer.alloc(size, letter);
  for (let at = 0; at + 4 <= size; at += 4096) bytes.writeUInt32LE(at + letter.charCodeAt(0), at);
  return bytes;
}

/** What a node takes files with. */
export const fileBounds: CascadeOptions = {
  storageBytes: 2 ** 30,
  maxFileBytes: 2 ** 30,
  copies: 3,
  repairAfterMs: 600_000,
  allowPrivate: true,
};

/** Names of the pieces of a file, in their order. */
export function piecesOf(file: Buffer): readonly string[] {
  const starts = Array.from({ length: Math.ceil(file.length / pieceBytes) }, (_, index) => index * pieceBytes);
  return starts.map((at) => hashPiece(file.subarray(at, at + pieceBytes)));
}

/** The manifest of a file, as an honest node makes it. */
export function manifestOf(actionId: string, file: Buffer): Manifest {
  const pieces = piecesOf(file);
  return { actionId, dataHash: Buffer.from(blake3(file)).toString('base64'), size: file.length, pieces };
}

type Registration = { isPublic?: boolean; signatures?: string };

/** Registers bytes as a pending action of the creator; gives its id. */
export async function pendingAction(ledger: Ledger, bytes: Uint8Array, given: Registration = {}): Promise<string> {
  const hasher = await createDataHasher();
  hasher.update(bytes);
  return await pendingFile(ledger, { dataHash: hasher.digest(), size: bytes.length }, given);
}

/** The same for a file of which only its hash and its size are at hand. */
export async function pendingFile(
  ledger: Ledger,
  { dataHash, size }: Readonly<{ dataHash: string; size: number }>,
  { isPublic = true, signatures }: Registration = {},
): Promise<string> {
  const chain = signerAt(ledger.url);
  const file = { dataHash, fileName: 'file.bin', isPublic, counter: 7, ids: 6 };
  const kilobytes = Math.ceil(size / 1024);
  const { events } = await chain.send(creator.key, [
    {
      '@type': '/lumera.action.v1.MsgRequestAction',
      creator: creator.account,
      actionType: 'CASCADE',
      metadata: JSON.stringify({ ...registrationMetadata(creator.key, file), ...(signatures && { signatures }) }),
      price: `${await chain.actionFee(kilobytes)}ulume`,
      expirationTime: String(Math.floor(Date.now() / 1000) + 90_000),
      fileSizeKbs: String(kilobytes),
      app_pubkey: null,
    },
  ]);
  const registered = events.find(({ type }) => type === 'action_registered');
  return registered?.attributes.find(({ key }) => key === 'action_id')?.value ?? '';
}

type Sent = { chunk: Uint8Array } | { metadata: { actionId: string; taskId?: string } };

/** Sends messages of a Register as they are; gives the events. */
export async function registering(grpc: string, messages: readonly Sent[]) {
  const client = createClient(CascadeService, createGrpcTransport({ baseUrl: `http://${grpc}` }));
  async function* requests() {
    for (const one of messages)
      yield 'chunk' in one
        ? { requestType: { case: 'chunk' as const, value: { data: one.chunk } } }
        : { requestType: { case: 'metadata' as const, value: one.metadata } };
  }
  const events: { eventType: SupernodeEventType; message: string; txHash: string }[] = [];
  for await (const { eventType, message, txHash } of client.register(requests()))
    events.push({ eventType, message, txHash });
  return events;
}

/** Uploads a file as the clients of the network do. */
export async function upload(grpc: string, actionId: string, bytes: Uint8Array) {
  const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) => ({
    chunk: bytes.subarray(index * 65_536, (index + 1) * 65_536),
  }));
  return await registering(grpc, [...chunks, { metadata: { actionId, taskId: 'a-task' } }]);
}

/** Downloads a file; `chunks` are the sizes of what came. */
export async function downloaded(grpc: string, actionId: string, signature = '') {
  const client = createClient(CascadeService, createGrpcTransport({ baseUrl: `http://${grpc}` }));
  const events: SupernodeEventType[] = [];
  const parts: Uint8Array[] = [];
  for await (const { responseType } of client.download({ actionId, signature })) {
    if (responseType.case === 'event') events.push(responseType.value.eventType);
    if (responseType.case === 'chunk') parts.push(responseType.value.data);
  }
  return { events, bytes: Buffer.concat(parts), chunks: parts.map(({ length }) => length) };
}

/** A download signature: of the action id as it is, in base64. */
export function signatureOf(person: Person, actionId: string): string {
  return Buffer.from(sign(person.key, Buffer.from(actionId))).toString('base64');
}
