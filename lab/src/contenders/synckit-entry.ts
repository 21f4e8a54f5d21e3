import { runAsWorker } from 'synckit';
import { loadFunction, type Target } from './contender.ts';
import { TARGET_VARIABLE } from './synckit.ts';

const fn = await loadFunction(JSON.parse(process.env[TARGET_VARIABLE]!) as Target);
runAsWorker((input: unknown) => fn(input));
