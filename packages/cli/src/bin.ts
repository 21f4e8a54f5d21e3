#!/usr/bin/env node
import { main } from './main.ts';

// A reader of stderr that goes away is no reason to stop the work.
process.stderr.on('error', () => {});

const code = await main(process.argv.slice(2));
// What a task module has opened in this process (`--placement inline`) must not hold it.
process.stderr.write('', () => process.exit(code));
