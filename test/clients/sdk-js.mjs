// Registers a file, uploads it, watches it and fetches it back with sdk-js 0.2.3 itself.
// Arguments: the chain's RPC, the gateway, the chain id, a private key in hex. Prints one line of JSON.
import './sdk-js-hooks.mjs';
import { Secp256k1Wallet } from '@cosmjs/amino';
import { DirectSecp256k1Wallet } from '@cosmjs/proto-signing';
import { fromHex, toBase64, toUtf8 } from '@cosmjs/encoding';

for (const name of ['debug', 'log', 'warn']) console[name] = () => undefined;
const { createLumeraClient } = await import('@lumera-protocol/sdk-js');

const [rpcUrl, snapiUrl, chainId, hex] = process.argv.slice(2);
const key = fromHex(hex);
const direct = await DirectSecp256k1Wallet.fromKey(key, 'lumera');
const amino = await Secp256k1Wallet.fromKey(key, 'lumera');
const [{ address }] = await direct.getAccounts();

/** A wallet as the client wants it: signs transactions, and texts after ADR-036. */
const signer = {
  getAccounts: () => direct.getAccounts(),
  signDirect: (account, document) => direct.signDirect(account, document),
  signAmino: (account, document) => amino.signAmino(account, document),
  signArbitrary: async (_chainId, account, text) => {
    const value = { signer: account, data: toBase64(toUtf8(text)) };
    const fee = { gas: '0', amount: [] };
    const document = {
      chain_id: '',
      account_number: '0',
      sequence: '0',
      fee,
      msgs: [{ type: 'sign/MsgSignData', value }],
      memo: '',
    };
    return (await amino.signAmino(account, document)).signature;
  },
};

const client = await createLumeraClient({ rpcUrl, snapiUrl, chainId, signer, address });
const bytes = new Uint8Array(100_000).map((_, index) => (index * 7 + (index >> 8)) & 0xff);
const taskOptions = { pollInterval: 200, timeout: 60_000 };
const { task, registrations } = await uploaded();
const stream = await client.Cascade.downloader.download(task.action_id, taskOptions);
const fetched = new Uint8Array(await new Response(stream).arrayBuffer());
const isSame = Buffer.from(fetched).equals(Buffer.from(bytes));
process.stdout.write(`${JSON.stringify({ address, task, registrations, size: fetched.length, isSame })}\n`);
process.exit(0);

/** The client draws its counter of ids by chance; the chain refuses 0, so then it registers again. */
async function uploaded() {
  for (let count = 1; ; count++) {
    try {
      const expirationTime = String(Math.floor(Date.now() / 1000) + 90_000);
      const file = { fileName: 'by sdk-js.bin', isPublic: true, expirationTime, taskOptions };
      return { task: await client.Cascade.uploader.uploadFile(bytes, file), registrations: count };
    } catch (caught) {
      if (count >= 8 || !String(caught).includes('rq_ids_ic is required')) throw caught;
    }
  }
}
