import { zstdCompressSync } from 'node:zlib';
import { blake3 } from '@noble/hashes/blake3.js';
import { base58 } from '@scure/base';
import type { PrivateKey } from '../sign/keys.ts';
import { signText } from './signatures.ts';

/** A Cascade registration's description of its file, as JSON text in the message (field names are the chain's). */
export type RegistrationMetadata = Readonly<{
  data_hash: string;
  file_name: string;
  rq_ids_ic: number;
  signatures: string;
  public: boolean;
}>;

/** A file to register: base64 of BLAKE3-256 of its bytes, its name, and the number of ids that the chain requires. */
export type FileToRegister = Readonly<{
  dataHash: string;
  fileName: string;
  isPublic: boolean;
  /** Counter that ids are drawn from, 1 to 49. */
  counter: number;
  ids: number;
}>;

/**
 * The metadata of a registration: layout and index, each signed by the creator (network facts C.6).
 *
 * The layout names the complete file as one block: Annals nodes store files in pieces of their own and read no layout.
 */
export function registrationMetadata(key: PrivateKey, file: FileToRegister): RegistrationMetadata {
  const layout = Buffer.from(JSON.stringify({ version: 1, data_hash: file.dataHash, blocks: 1 })).toString('base64');
  const layoutSignature = signText(key, layout);
  const layoutIds = idsOf(`${layout}.${layoutSignature}`, file.counter, file.ids);
  const index = JSON.stringify({ version: 1, layout_ids: layoutIds, layout_signature: layoutSignature });
  return {
    data_hash: file.dataHash,
    file_name: file.fileName,
    rq_ids_ic: file.counter,
    signatures: `${Buffer.from(index).toString('base64')}.${signText(key, index)}`,
    public: file.isPublic,
  };
}

/** Ids that follow from a signed text: base58 of BLAKE3 of the compressed text with each counter from the first on. */
export function idsOf(signedText: string, counter: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const compressed = zstdCompressSync(Buffer.from(`${signedText}.${counter + index}`));
    return base58.encode(blake3(compressed));
  });
}
