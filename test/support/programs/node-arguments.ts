const bundled = new URL('../../../tools/boot/bundled.mjs', import.meta.url).href;

/** The arguments that Node gets from ./annals, without those that save memory. */
export const nodeArguments: readonly string[] = ['--disable-warning=ExperimentalWarning', `--import=${bundled}`];
