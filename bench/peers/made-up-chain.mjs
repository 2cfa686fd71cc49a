/**
 * A chain for ponder that is made up as it is asked: every block holds one transaction with a hundred logs, of probes
 * of nodes or of steps of actions.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import { toEventSelector } from 'viem';

export const logsPerBlock = 100;

const contract = '0x00000000000000000000000000000000000be7c4';
/** What each kind of chain logs: its topic, and the words of an event. */
const kinds = {
  probes: {
    topic: toEventSelector('event Probed(uint256 node, uint256 peers, uint256 at)'),
    words: (event, rows) => [event % rows, event % 97, 1_700_000_000 + event],
  },
  steps: {
    topic: toEventSelector('event Moved(uint256 action, uint256 step, uint256 amount)'),
    words: (event) => [
      Math.floor(event / stepsAtOnce) * atOnce + (event % atOnce),
      Math.floor((event % stepsAtOnce) / atOnce),
      100 + (event % 9_000),
    ],
  },
};
/** So many actions take their three steps beside each other. */
const atOnce = 50;
const stepsAtOnce = 3 * atOnce;
const beyond = 200;

/** Serves JSON-RPC on loopback; the address names the chain: `/<id>/<blocks>/<rows>/<kind>`. */
export async function startChain() {
  const server = createServer((request, response) => void reply(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => server.closeAllConnections() ?? server.close(),
  };
}

async function reply(request, response) {
  const [id, blocks, rows] = request.url.split('/').slice(1, 4).map(Number);
  const kind = kinds[request.url.split('/')[4]];
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
  const answers = [body]
    .flat()
    .map((one) => ({ jsonrpc: '2.0', id: one.id, result: answer(one, { id, blocks, rows, kind }) }));
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
}

function answer({ method, params }, chain) {
  switch (method) {
    case 'eth_chainId':
      return hex(chain.id);
    case 'eth_blockNumber':
      return hex(chain.blocks + beyond);
    case 'eth_getBlockByNumber':
      return block(params[0].startsWith('0x') ? Number(params[0]) : chain.blocks + beyond);
    case 'eth_getBlockByHash':
      return block(Number(BigInt(params[0]) & 0xffffffffn));
    case 'eth_getLogs':
      return logs(Number(params[0].fromBlock), Math.min(Number(params[0].toBlock), chain.blocks), chain);
    default:
      throw new Error(`The chain knows no ${method}`);
  }
}

function logs(from, to, { rows, kind }) {
  return Array.from({ length: Math.max(0, to - from + 1) * logsPerBlock }, (_, place) => {
    const number = from + Math.floor(place / logsPerBlock);
    const event = (number - 1) * logsPerBlock + (place % logsPerBlock);
    return {
      address: contract,
      topics: [kind.topic],
      data: `0x${kind
        .words(event, rows)
        .map((word) => word.toString(16).padStart(64, '0'))
        .join('')}`,
      blockNumber: hex(number),
      blockHash: hashOf(number, 'b'),
      transactionHash: hashOf(number, 'c'),
      transactionIndex: '0x0',
      logIndex: hex(place % logsPerBlock),
      removed: false,
    };
  });
}

const zeros = (digits) => `0x${'0'.repeat(digits)}`;
const hex = (number) => `0x${number.toString(16)}`;
const hashOf = (number, kind) => `0x${kind.padEnd(56, '0')}${number.toString(16).padStart(8, '0')}`;

function block(number) {
  return {
    number: hex(number),
    hash: hashOf(number, 'b'),
    parentHash: hashOf(number - 1, 'b'),
    timestamp: hex(1_700_000_000 + number * 5),
    logsBloom: `0x${'f'.repeat(512)}`,
    miner: contract,
    gasUsed: '0x0',
    gasLimit: '0x1c9c380',
    baseFeePerGas: '0x0',
    nonce: zeros(16),
    mixHash: zeros(64),
    stateRoot: zeros(64),
    receiptsRoot: hashOf(number, 'd'),
    transactionsRoot: hashOf(number, 'e'),
    sha3Uncles: zeros(64),
    size: '0x400',
    difficulty: '0x0',
    totalDifficulty: '0x0',
    extraData: '0x',
    transactions: [transaction(number)],
    uncles: [],
  };
}

function transaction(number) {
  return {
    hash: hashOf(number, 'c'),
    blockHash: hashOf(number, 'b'),
    blockNumber: hex(number),
    transactionIndex: '0x0',
    from: contract,
    to: contract,
    input: '0x',
    value: '0x0',
    nonce: hex(number),
    gas: '0x5208',
    gasPrice: '0x1',
    type: '0x0',
    r: hashOf(number, 'f'),
    s: hashOf(number, 'f'),
    v: '0x1b',
  };
}
