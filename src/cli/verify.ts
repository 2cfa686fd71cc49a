import { readFile } from 'node:fs/promises';
import { AppError } from '../kit/errors.ts';
import { checkProof } from '../edges/http/pages/public/verify.js';
import { print } from './output.ts';

/** Options of `annals verify`; `vkey` is a key `name+id+base64`. */
type VerifyOptions = Readonly<{ vkey: string; json: boolean }>;

/**
 * `annals verify FILE PROOF`: whether the log of a key has an event with exactly these bytes, as a proof of the form
 * C2SP tlog-proof shows. Needs no running instance, and queries nothing.
 *
 * Exit status 1 where it does not hold.
 */
export async function verify(file: string, proof: string, { vkey, json }: VerifyOptions): Promise<void> {
  const [event, text] = await Promise.all([file, proof].map(read));
  if (!event || !text) throw new AppError('INTERNAL', 'Two files were read, and there are less');
  const { origin, index, size } = await checkProof(text.toString(), event, vkey).catch((caught: unknown) => {
    const why = caught instanceof Error ? caught.message : String(caught);
    throw new AppError('INVALID_ARGUMENT', `${proof} does not prove ${file}: ${why}`, { cause: caught });
  });
  print(
    { origin, sequence: index + 1, size },
    { json, human: () => `${file} is event ${index + 1} of ${origin}, in a checkpoint of ${size} events.` },
  );
}

async function read(file: string): Promise<Buffer> {
  return await readFile(file).catch((caught: unknown) => {
    throw new AppError('NOT_FOUND', `${file} cannot be read`, { cause: caught });
  });
}
