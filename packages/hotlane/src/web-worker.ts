/**
 * `hotlane/web-worker`: for the scripts of web workers that serve as lanes.
 */
export { expose } from './place/web-lane.ts';
