import { stat } from 'node:fs/promises';
import { AppError } from '../kit/errors.ts';
import { print } from './output.ts';
import { registerFile } from './register.ts';
import { followTask } from './transfer/follow-task.ts';
import { type Upload, uploadFile } from './transfer/gateway-client.ts';
import { gatewayUrl, type OpeningOptions, signatureOver } from './transfer/network.ts';
import { createProgress, showToEnd } from './transfer/progress.ts';

/** Options of `annals upload`; `action` and `signature` go together, for an action that is registered already. */
type UploadOptions = OpeningOptions & Readonly<{ json: boolean; public?: boolean; private?: boolean; action?: string }>;

/**
 * `annals upload FILE`: registers a file on the local network, or takes an action that is there, and stores it through
 * a gateway; shows every state until the end.
 */
export async function upload(file: string, options: UploadOptions): Promise<void> {
  checkOptions(options);
  const gateway = await gatewayUrl(options);
  const request = await requestedFor(file, options);
  const progress = createProgress('upload', options);
  try {
    const taskId = await uploadFile(gateway, request, progress.bytes('sending ', request.size));
    const seen = await showToEnd(followTask(gateway, 'upload', taskId), progress);
    progress.stop();
    const txHash = seen.map(({ data }) => data['txhash']).findLast((one) => typeof one === 'string');
    const { actionId, size } = request;
    print(
      { action_id: actionId, task_id: taskId, size, tx_hash: txHash ?? null },
      {
        json: options.json,
        human: () => `Stored ${file} as action ${actionId}. Get it with: annals download ${actionId}`,
      },
    );
  } finally {
    progress.stop();
  }
}

function checkOptions({ action, signature, public: isPublic, private: isPrivate }: UploadOptions): void {
  const wrong = (message: string): never => {
    throw new AppError('INVALID_ARGUMENT', message);
  };
  if (isPublic === true && isPrivate === true) wrong('Give --public or --private, not both');
  if (action !== undefined && (isPublic ?? isPrivate) !== undefined)
    wrong('With --action the chain says whether the file is public: leave --public and --private out');
  if (action === undefined && signature !== undefined)
    wrong('--signature goes with --action, the id of the action that the file was registered as');
}

async function requestedFor(file: string, options: UploadOptions): Promise<Upload> {
  if (options.action === undefined) {
    const { actionId, dataHash, size } = await registerFile(file, options);
    return { file, size, actionId, signature: await signed(dataHash, options) };
  }
  const match = await stat(file).catch((caught: unknown) => {
    throw new AppError('INVALID_ARGUMENT', `The file ${file} cannot be read`, { cause: caught });
  });
  const { hashFile } = await import('../edges/chain/files/data-hash.ts');
  const text = options.signature ?? (await hashFile(file)).dataHash;
  const signature = options.signature ?? (await signed(text, options));
  return { file, size: match.size, actionId: options.action, signature };
}

async function signed(dataHash: string, options: UploadOptions): Promise<string> {
  const signature = await signatureOver(dataHash, options);
  if (signature !== undefined) return signature;
  throw new AppError(
    'INVALID_ARGUMENT',
    `The upload needs the creator’s signature over ${dataHash}: give --signature, or --key-file to sign with`,
  );
}
