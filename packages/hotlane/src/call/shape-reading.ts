/**
 * Functions that read the objects of one shape.
 *
 * A loop over a shape's keys is where the engine meets every key of every shape in one place, and looks each up anew. A
 * function of its own for a shape is a place of its own: a third of the time. So one is made for each shape that
 * comes often. All of the other side's that goes into its text is names of keys, quoted as JSON quotes them.
 */

/** What is asked for the value of each property, in the order of the keys. */
export interface Values {
  read(): unknown;
}

/** Reads the contents of an object, then builds it. */
export type ShapeReading = (values: Values) => object;

/** Taken before a task module may patch them. */
const { stringify } = JSON;
const MakeFunction = Function;

/** Each takes some kilobytes as long as its thread lives: past so many, the loop has to do. */
const MOST_READINGS = 2_048;
let made = 0;

/**
 * @param keys none may be `__proto__`, which would set a prototype
 * @returns null where code must not be made from strings, or too much was made already
 */
export function createReading(keys: readonly string[]): ShapeReading | null {
  if (made >= MOST_READINGS) return null;
  let properties = '';
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] === '__proto__') return null;
    properties += `${stringify(keys[i])}:values.read(),`;
  }
  try {
    const reading = new MakeFunction('values', `return{${properties}}`) as ShapeReading;
    made++;
    return reading;
  } catch {
    made = MOST_READINGS; // the process, or the page, forbids it: to ask again would only be told again
    return null;
  }
}
