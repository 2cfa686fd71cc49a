import { blake3 } from '/assets/hashes/blake3.js';

const pieceBytes = 1 << 20;

/** Base64 of BLAKE3-256 of a file, read piece by piece; `onShare` receives the progress, 0 to 1. */
export async function dataHashOf(file, onShare) {
  const hash = blake3.create({});
  for (let at = 0; at < file.size; at += pieceBytes) {
    hash.update(new Uint8Array(await file.slice(at, at + pieceBytes).arrayBuffer()));
    onShare(Math.min(1, (at + pieceBytes) / file.size));
  }
  return btoa(String.fromCharCode(...hash.digest()));
}

/** Requests JSON; a refusal fails with the words of the gateway. */
export async function ask(path, body) {
  const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(path, init);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `The gateway answers ${response.status}`);
  return answer;
}

/** Sends a file for an action; returns the task's id. `onShare` receives the share that is sent. */
export function send(file, { action_id, signature }, onShare) {
  const form = new FormData();
  form.set('action_id', action_id);
  form.set('signature', signature);
  form.set('file', file, file.name);
  const request = new XMLHttpRequest();
  const { promise, resolve, reject } = Promise.withResolvers();
  request.upload.addEventListener('progress', ({ loaded, total }) => onShare(total === 0 ? 1 : loaded / total));
  request.addEventListener('error', () => reject(new Error('The gateway cut the upload; is it running?')));
  request.addEventListener('load', () => {
    const answer = request.response ?? {};
    if (request.status === 202) resolve(answer.task_id);
    else reject(new Error(answer.error ?? `The gateway answers ${request.status}`));
  });
  request.responseType = 'json';
  request.open('POST', '/api/v1/actions/cascade');
  request.send(form);
  return promise;
}

const paths = { upload: '/api/v1/actions/cascade/tasks', download: '/api/v1/downloads/cascade' };

/** Returns whether nothing comes after a state. */
export function isEnd(status) {
  return status === 'sdk:completed' || status === 'sdk:failed';
}

/** Follows a task until its end; the browser resumes a stream that is cut. Resolves with the last event. */
export function follow(direction, taskId, onEvent) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const source = new EventSource(`${paths[direction]}/${taskId}/status`);
  source.addEventListener('message', ({ data }) => {
    const event = JSON.parse(data);
    onEvent(event);
    if (!isEnd(event.status)) return;
    source.close();
    resolve(event);
  });
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED) reject(new Error('The gateway knows no such task'));
  });
  return promise;
}

/** Where the file of a download is had. */
export function fileAddress(taskId) {
  return `${paths.download}/${taskId}/file`;
}
