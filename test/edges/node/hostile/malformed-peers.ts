import { fromBinary } from '@bufbuild/protobuf';
import { noise } from '@chainsafe/libp2p-noise';
import { yamux } from '@chainsafe/libp2p-yamux';
import { tcp } from '@libp2p/tcp';
import { multiaddr } from '@multiformats/multiaddr';
import { createLibp2p } from 'libp2p';
import { AnswerSchema } from '../../../../src/edges/gen/annals/peers/v1/peers_pb.ts';
import { readFrame } from '../../../../src/edges/node/peers/frames.ts';
import { type Attack, sendRaw } from './attack.ts';

const lengthPrefixed = (text: string): Buffer =>
  Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(`${text}\n`)]);

/** The beginning of a peer, and then nothing that belongs there. */
export const negotiations: Attack = async (target, random) => {
  const names = Array.from({ length: random.between(0, 3) }, () =>
    lengthPrefixed(
      random.pick(['/multistream/1.0.0', '/noise', '/tls/1.0.0', '/yamux/1.0.0', 'ls', '/annals/pieces/1.0.0']),
    ),
  );
  await sendRaw(target, Buffer.concat([...names, random.bytes(random.between(0, 200))]));
  return undefined;
};

/** A peer that shakes hands as it should and then asks nothing that can be read, or without saying who it is. */
export const questions: Attack = async ({ host, port }, random) => {
  const node = await createLibp2p({
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    connectionMonitor: { enabled: false },
  });
  try {
    const stream = await node.dialProtocol(multiaddr(`/ip4/${host}/tcp/${port}`), '/annals/pieces/1.0.0');
    const question = random.bytes(random.between(0, 200));
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32BE(random.pick([question.length, question.length, random.between(0, 2 ** 32 - 1)]));
    stream.send(Buffer.concat([prefix, question]));
    await stream.close();
    return fromBinary(AnswerSchema, await readFrame(stream)).done ? 'a question that is none was answered' : undefined;
  } catch {
    // The stream was aborted: that is an answer to what cannot be read.
    return undefined;
  } finally {
    await node.stop();
  }
};
