/** The script of workers that are started for a module's URL: what they serve they are told. */
import { HotlaneError } from '../errors.ts';
import { serve } from './web-lane.ts';

serve(async module => {
  try {
    return await import(/* @vite-ignore */ /* webpackIgnore: true */ module!);
  } catch (error) {
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new HotlaneError('LANE_START', `The task module ${module} failed to load: ${what}`, {
      cause: error,
    });
  }
});
