// Lets Node load sdk-js 0.2.3 as it is published, which is written for bundlers: imports without extensions, a
// WebAssembly file imported by its address, zstd as a native module whose build scripts do not run here, and a page's
// globals.
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { EventSource } from 'eventsource';

globalThis.window = globalThis;
globalThis.EventSource = EventSource;

const zstd = `data:text/javascript,${encodeURIComponent(
  'import { constants, zstdCompressSync } from "node:zlib";' +
    'export const compress = async (bytes, level) =>' +
    'zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } });',
)}`;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@mongodb-js/zstd') return { url: zstd, format: 'module', shortCircuit: true };
    if (specifier.endsWith('.wasm?url')) {
      const { url } = next(specifier.slice(0, -'?url'.length), context);
      return { url: `${url}?bytes`, format: 'module', shortCircuit: true };
    }
    return next(withExtension(specifier, context.parentURL), context);
  },
  load(url, context, next) {
    if (!url.endsWith('.wasm?bytes')) return next(url, context);
    const file = JSON.stringify(fileURLToPath(url.slice(0, -'?bytes'.length)));
    const source = `import { readFileSync } from 'node:fs'; export default readFileSync(${file});`;
    return { format: 'module', source, shortCircuit: true };
  },
});

function withExtension(specifier, parent) {
  if (!specifier.startsWith('.') || parent === undefined || !parent.startsWith('file:')) return specifier;
  const endings = ['', '.js', '/index.js'];
  const isFile = (ending) =>
    /\.\w+$/.test(`${specifier}${ending}`) && existsSync(new URL(`${specifier}${ending}`, parent));
  return `${specifier}${endings.find(isFile) ?? ''}`;
}
