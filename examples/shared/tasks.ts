/** The heavy work: plain functions. Lanes run them; without a pool they can be called like any other. */
import { randomBytes, scryptSync } from 'node:crypto';
import { context } from 'hotlane/worker';
import { InputError } from './input-error.ts';

/** Some 50 ms of one core. */
export function hash(password: unknown): { readonly salt: string; readonly hash: string } {
  if (typeof password !== 'string' || password === '') {
    throw new InputError('`password`: expected a string that is not empty.');
  }
  const salt = randomBytes(16);
  return { salt: salt.toString('hex'), hash: scryptSync(password, salt, 32).toString('hex') };
}

/** Takes as long as `limit` says, and stops when nobody waits for it any more. */
export function countPrimes(limit: number): number {
  if (!Number.isSafeInteger(limit) || limit < 0) {
    throw new InputError('`limit`: expected a whole number of 0 or more.');
  }
  let count = 0;
  // The loop never awaits, so no event could reach it: `aborted()` reads shared memory, in some nanoseconds.
  for (let n = 2; n <= limit && !context.aborted(); n++) if (isPrime(n)) count++;
  return count;
}

function isPrime(n: number): boolean {
  for (let factor = 2; factor * factor <= n; factor++) if (n % factor === 0) return false;
  return true;
}

/** Four bytes for each pixel, row by row: red, green, blue, alpha. */
export interface RawImage {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array<ArrayBuffer>;
}

/** A smaller image of the given width, in which each pixel is the mean of those that it covers. */
export function downscale(image: RawImage, width: number): RawImage {
  const { pixels } = image;
  if (!isSize(image.width) || !isSize(image.height) || pixels.length !== image.width * image.height * 4) {
    throw new InputError(
      '`width`, `height`: expected whole numbers, and a body of width × height × 4 bytes.',
    );
  }
  if (!isSize(width) || width > image.width) {
    throw new InputError('`to`: expected a whole number from 1 to `width`.');
  }
  const height = Math.max(1, Math.round((image.height * width) / image.width));
  const small = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const [top, bottom] = covered(y, height, image.height);
    for (let x = 0; x < width; x++) {
      const [left, right] = covered(x, width, image.width);
      for (let channel = 0; channel < 4; channel++) {
        let sum = 0;
        for (let v = top; v < bottom; v++) {
          for (let u = left; u < right; u++) sum += pixels[(v * image.width + u) * 4 + channel];
        }
        small[(y * width + x) * 4 + channel] = Math.round(sum / ((bottom - top) * (right - left)));
      }
    }
  }
  // The lane has no use for the bytes any more: they move to the server instead of being copied.
  return context.transfer({ width, height, pixels: small }, [small.buffer]);
}

function isSize(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

/** From which row or column of the large image, up to which, the one at `index` in the small image covers. */
function covered(index: number, small: number, large: number): [from: number, to: number] {
  const from = Math.floor((index * large) / small);
  return [from, Math.max(from + 1, Math.floor(((index + 1) * large) / small))];
}
