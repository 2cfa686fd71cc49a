import { projectionNames } from '../projections/projection.ts';
import { createProgram, endWithReader, gatewayOption, json, keyFileOption, keyTypeOption, run } from './program.ts';
import { roleNames } from '../role-names.ts';
import { roleHelp, settingHelp } from './setting-help.ts';
import type { UpOptions } from './up.ts';

// Each verb loads its own modules: those of all of them take two seconds.
const program = await createProgram();

program
  .command('up')
  .description('start the program: everything on one machine, or the roles that are named')
  .option('--roles <list>', `${roleNames.join(', ')}; separated by commas (default: ROLES)`)
  .addOption(json)
  .addHelpText(
    'after',
    () =>
      `\nRoles:\n\n${roleHelp()}\n\nSettings are read from the environment:\n\n${settingHelp()}\n\nExample:\n  CHAIN_API_BASE=https://lcd.example.org annals up`,
  )
  .action(run(async (options: UpOptions) => (await import('./up.ts')).up(options)));

program
  .command('status')
  .description('streams, projections, sync and lag of the running instance')
  .addOption(json)
  .action(run(async (options) => (await import('./status.ts')).status(options)));

program
  .command('tail')
  .description('print events, live or from a position of the log')
  .argument('[subject]', 'NATS subject such as evt.action.> or evt.probe.local.*', 'evt.>')
  .option('--from <position>', 'sequence to begin at in each stream, or `start`')
  .option('--limit <count>', 'stop after this many events')
  .addOption(json)
  .addHelpText('after', '\nExample:\n  annals tail evt.action.> --from start --limit 5')
  .action(run(async (subject: string, options) => (await import('./tail.ts')).tail(subject, options)));

program
  .command('replay')
  .description('rebuild a read model from the log beside the live one and switch to it; readers notice nothing')
  .argument('<projection>', `${projectionNames.join(', ')} or all`)
  .option('--back', 'go back to the generation that was live before, brought up to the log first')
  .option('--drop-previous', 'drop the generation that was live before; waits until no reader looks at it')
  .addOption(json)
  .action(run(async (projection: string, options) => (await import('./replay.ts')).replay(projection, options)));

program
  .command('scrub')
  .description(
    'compare every event of the log with its archive, once and whole; exit status 1 when something is damaged',
  )
  .addOption(json)
  .action(run(async (options) => (await import('./audit.ts')).scrub(options)));

program
  .command('repair')
  .description('mend the log from its archive and the archive from the log, and say what neither has')
  .option('--dry-run', 'only say what is damaged')
  .addOption(json)
  .action(run(async (options) => (await import('./audit.ts')).repair(options)));

program
  .command('hooks')
  .description('webhooks: where events are sent, and how far that is')
  .argument('[act]', 'list, show, add, enable, disable, retry, replay, rotate, test or remove', 'list')
  .argument('[hook]', 'id of the webhook; of `add` its address')
  .option('--streams <list>', 'with add: streams to follow, separated by commas (default: ACTIONS)')
  .option('--types <list>', 'with add: types of events, such as annals.ActionRegistered.v1 (default: all)')
  .option('--entity <id>', 'with add: the one entity whose events are sent (default: all)')
  .option('--description <text>', 'with add: a note for people')
  .option('--from <sequence>', 'with add and replay: first event to send (default of add: what is written from now on)')
  .option('--stream <name>', 'with replay: this stream only')
  .addOption(json)
  .addHelpText('after', '\nExample:\n  annals hooks add http://127.0.0.1:9000/ --streams ACTIONS --from 1')
  .action(
    run(async (act: string, hook: string | undefined, options) =>
      (await import('./hooks.ts')).hooks(act, hook, options),
    ),
  );

program
  .command('nodes')
  .description('the SuperNodes that run here: peers, files, pieces and bans')
  .addOption(json)
  .action(run(async (options) => (await import('./nodes.ts')).nodes(options)));

program
  .command('accounts')
  .description('funded accounts of the local network with their keys')
  .addOption(json)
  .action(run(async (options) => (await import('./accounts.ts')).accounts(options)));

program
  .command('register')
  .description('register a file on the local network: a pending action, ready to be uploaded')
  .argument('<file>', 'file to register')
  .option('--public', 'everybody may download it')
  .option('--private', 'only its creator may download it')
  .addOption(keyFileOption())
  .addOption(keyTypeOption())
  .addOption(json)
  .addHelpText('after', '\nExample:\n  annals register holiday.jpg --public')
  .action(run(async (file: string, options) => (await import('./register.ts')).register(file, options)));

program
  .command('upload')
  .description('store a file: register it on the local network and hand it to SuperNodes through the gateway')
  .argument('<file>', 'file to store')
  .option('--public', 'everybody may download it')
  .option('--private', 'only its creator may download it (the default)')
  .option('--action <id>', 'an action that the file is registered as already, on any network')
  .option('--signature <base64>', 'the creator’s signature over the data hash, with --action')
  .addOption(gatewayOption())
  .addOption(keyFileOption())
  .addOption(keyTypeOption())
  .addOption(json)
  .addHelpText('after', '\nExample:\n  annals upload holiday.jpg --public')
  .action(run(async (file: string, options) => (await import('./upload.ts')).upload(file, options)));

program
  .command('download')
  .description('fetch the file of an action from SuperNodes through the gateway')
  .argument('<id>', 'id of the action')
  .option('--out <file>', 'where to write it (default: its own name, in this folder)')
  .option('--signature <base64>', 'the creator’s signature over the id, for a private file')
  .addOption(gatewayOption())
  .addOption(keyFileOption())
  .addOption(keyTypeOption())
  .addOption(json)
  .addHelpText('after', '\nExample:\n  annals download 7 --out holiday.jpg')
  .action(run(async (id: string, options) => (await import('./download.ts')).download(id, options)));

program
  .command('prove')
  .description('write an event and the proof that its log has it, for annals verify')
  .argument('<stream>', 'stream of the log, such as ACTIONS')
  .argument('<sequence>', 'sequence of the event in it')
  .option('--out <folder>', 'where to write both files (default: this folder)')
  .addOption(json)
  .addHelpText('after', '\nExample:\n  annals prove ACTIONS 17')
  .action(
    run(async (stream: string, sequence: string, options) =>
      (await import('./prove.ts')).prove(stream, sequence, options),
    ),
  );

program
  .command('verify')
  .description('check, without asking anybody, that a log has an event: its bytes against a proof of C2SP tlog-proof')
  .argument('<file>', 'the bytes of the event')
  .argument('<proof>', 'file with the proof')
  .requiredOption('--vkey <key>', 'public key of the log: name+id+base64')
  .addOption(json)
  .addHelpText('after', '\nExample:\n  annals verify event.json event.tlog-proof --vkey "$(cat log.vkey)"')
  .action(
    run(async (file: string, proof: string, options) => (await import('./verify.ts')).verify(file, proof, options)),
  );

program
  .command('rekey')
  .description('begin every provable log anew under another key, where the one that signed is lost or known to others')
  .option('--yes', 'do it: whoever verifies the logs needs the new key')
  .addOption(json)
  .action(run(async (options) => (await import('./rekey.ts')).rekey(options)));

program
  .command('doctor')
  .description('what was found where: Node, servers, ports, data, chain')
  .addOption(json)
  .action(run(async (options) => (await import('./doctor.ts')).doctor(options)));

program
  .command('reset')
  .description('remove all data of the local network, so that the next start begins anew')
  .addOption(json)
  .action(run(async (options) => (await import('./reset.ts')).reset(options)));

program.hook('preAction', (_, verb) => {
  if (verb.name() !== 'up') process.stdout.on('error', endWithReader);
});
await program.parseAsync();
