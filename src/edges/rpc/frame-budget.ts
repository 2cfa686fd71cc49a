import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';

/** What a client may have on its way to calls that were refused: twice a connection's window. */
const burstBytes = 32 * 2 ** 20;
/** Some 20,000 of the shortest frames; the windows and signs of life of an honest client take a few hundred. */
const bytesPerSecond = 256 * 1024;
/** What a call may take for its headers and trailers. */
const callBytes = 64 * 1024;
/** Heads of frames and padding may take as much again as the data in them. */
const perDataByte = 2;
/** Of what is sent, this part may come back as window updates and acknowledgements. */
const perSentByte = 1 / 4;
const usualTickMs = 250;

/**
 * Ends a connection with `ENHANCE_YOUR_CALM` that goes on sending frames without calls or data in them, of whatever
 * kind: the library bounds some kinds, but takes window updates and padding without an end.
 *
 * The bytes of the connection are counted beside those of its calls, so that a frame costs nothing more here.
 */
export function boundFrames(session: ServerHttp2Session, tickMs = usualTickMs): void {
  const { socket } = session;
  let useful = 0;
  let before = 0;
  let left = burstBytes;
  let at = performance.now();
  session.on('stream', (stream) => {
    useful += callBytes;
    whenRead(stream, (bytes) => (useful += bytes.length * perDataByte));
  });
  const timer = setInterval(() => {
    if (session.destroyed) return;
    // Data that no handler has read yet; the window bounds it.
    const { effectiveRecvDataLength: unread = 0 } = session.state;
    const idle = Math.max(0, socket.bytesRead - useful - unread - socket.bytesWritten * perSentByte);
    const now = performance.now();
    left = Math.min(burstBytes, left + (bytesPerSecond * (now - at)) / 1000) - (idle - before);
    [before, at] = [idle, now];
    if (left < 0) session.destroy(constants.NGHTTP2_ENHANCE_YOUR_CALM as never);
  }, tickMs).unref();
  session.once('close', () => clearInterval(timer));
}

/** Passes on the bytes of a call once somebody reads them: a listener of ours alone would take them away. */
export function whenRead(stream: ServerHttp2Stream, listener: (bytes: Buffer) => void): void {
  const listen = (event: string | symbol): void => {
    if (event !== 'data') return;
    stream.off('newListener', listen);
    stream.on('data', listener);
  };
  stream.on('newListener', listen);
}
