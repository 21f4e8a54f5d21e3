/**
 * What the codec needs from where it runs. `place/` supplies the platform's own routines;
 * `portablePlatform` is what works everywhere.
 */

/** The part of Node's Buffer class that is needed to recognise and rebuild one. */
export interface BufferClass {
  readonly prototype: object;
  from(buffer: ArrayBuffer, byteOffset: number, length: number): Uint8Array;
  allocUnsafeSlow(length: number): Uint8Array;
}

/** All text routines work on possibly shared memory; their caller has checked the range. */
export interface CodecPlatform {
  /** Writes text of U+0000–U+00FF, one byte each. */
  writeLatin1(bytes: Uint8Array, text: string, at: number): void;
  readLatin1(bytes: Uint8Array, start: number, end: number): string;
  /** Writes two bytes per code unit, little endian; lone surrogates survive. */
  writeUtf16(bytes: Uint8Array, text: string, at: number): void;
  readUtf16(bytes: Uint8Array, start: number, end: number): string;
  /** Bytes that are not zeroed, since they are written over at once; left out where there is no such thing. */
  allocate?(length: number): Uint8Array;
  /** Copies source[start, end) to target[at, …); the two never overlap. */
  copy(target: Uint8Array, at: number, source: Uint8Array, start: number, end: number): void;
  /**
   * True for values that only the platform's structured clone can carry: ports, blobs, keys, streams,
   * modules, files. Asked once per prototype: instances of one class must get one answer.
   */
  isPlatformObject(value: object): boolean;
  /**
   * May say, in constant time, that an array has no named properties. False means "look yourself",
   * which takes time linear in the length. Asked about long arrays only.
   */
  isBareArray?(array: readonly unknown[]): boolean;
  /**
   * After so many objects of one shape, a function is made that reads such objects (shape-reading.ts). Left out: never,
   * as where code from strings is forbidden and trying would be reported.
   */
  readonly readingAfter?: number;
  /** Undefined where there is none. */
  readonly Buffer?: BufferClass | undefined;
}

/** How many arguments one call of String.fromCharCode gets: far below every engine's limit. */
const CHUNK = 4_096;

/** What `Object.prototype.toString` calls the objects that browsers clone or transfer natively. */
const PLATFORM_TAGS = new Set(
  (
    'MessagePort Blob File FileList ImageBitmap ImageData OffscreenCanvas ReadableStream WritableStream ' +
    'TransformStream CryptoKey WebAssembly.Module WebAssembly.Memory VideoFrame AudioData RTCDataChannel RTCCertificate ' +
    'MediaSourceHandle MediaStreamTrack FileSystemFileHandle FileSystemDirectoryHandle GPUCompilationInfo ' +
    'DOMPoint DOMPointReadOnly DOMRect DOMRectReadOnly DOMQuad DOMMatrix DOMMatrixReadOnly EncodedVideoChunk ' +
    'EncodedAudioChunk WebTransportReceiveStream WebTransportSendStream CropTarget MIDIAccess'
  )
    .split(' ')
    .map(name => `[object ${name}]`),
);

/** Reads code units, one or two bytes each, in chunks that fit the arguments of one call. */
function readUnits(bytes: Uint8Array, start: number, end: number, width: 1 | 2): string {
  let text = '';
  for (let at = start; at < end; at += CHUNK * width) {
    const stop = Math.min(end, at + CHUNK * width);
    const units: number[] = [];
    for (let i = at; i < stop; i += width)
      units.push(width === 1 ? bytes[i]! : bytes[i]! | (bytes[i + 1]! << 8));
    text += String.fromCharCode(...units);
  }
  return text;
}

/** Works in every JavaScript engine, with no API of a platform. */
export const portablePlatform: CodecPlatform = {
  writeLatin1(bytes, text, at) {
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  },
  readLatin1: (bytes, start, end) => readUnits(bytes, start, end, 1),
  writeUtf16(bytes, text, at) {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      bytes[at + 2 * i] = unit;
      bytes[at + 2 * i + 1] = unit >>> 8;
    }
  },
  readUtf16: (bytes, start, end) => readUnits(bytes, start, end, 2),
  copy: (target, at, source, start, end) => target.set(source.subarray(start, end), at),
  isPlatformObject: value => PLATFORM_TAGS.has(Object.prototype.toString.call(value)),
  Buffer: undefined,
};
