import type { FileAction } from '../intake/checks.ts';
import type { UploadForm } from '../intake/receive.ts';
import type { GatewayDependencies } from '../rest/dependencies.ts';
import { newTaskId, type Task } from './task-log.ts';

/** Starts the task of an upload, under the id that the form names where it does, or joins the one that runs. */
export type StartUpload = (action: FileAction, form: UploadForm & Readonly<{ becomes?: string }>) => Promise<Task>;

/** The parts of a gateway that start an upload. */
export type UploadStart = Pick<GatewayDependencies, 'files' | 'runner' | 'elsewhere' | 'clock'>;

/** Starts the task of an upload; uploads of one action that come at the same moment are one. */
export function createStartUpload({ files, runner, elsewhere, clock }: UploadStart): StartUpload {
  const beginning = new Map<string, Promise<Task>>();
  const startUpload: StartUpload = async (action, { signature, received, becomes: id = newTaskId() }) => {
    await files.adopt(received.path, id);
    const { fileName, size } = received;
    const { dataHash } = action.file;
    const at = new Date(clock()).toISOString();
    const request = { action: action.id, at, fileName, size: String(size), dataHash, signature };
    // Before the new one is open, so that what is ended is only what was there before it.
    await elsewhere.supersede(action.id);
    return await runner.begin(id, { direction: 'upload', ...request }, action);
  };
  return async (action, form) => {
    const running = runner.uploadOf(action.id) ?? beginning.get(action.id);
    if (running) return await running;
    const started = startUpload(action, form).finally(() => beginning.delete(action.id));
    beginning.set(action.id, started);
    return await started;
  };
}
