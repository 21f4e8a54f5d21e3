import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metadata } from '@grpc/grpc-js';
import { joined, type MetadataValues, parted, toMetadata, toValues } from '../src/metadata.ts';

test('metadata comes out of its crossing as it went in', () => {
  const several = new Metadata();
  several.add('key', 'one');
  several.add('key', '');
  several.add('other', 'two, three');
  const bytes = new Metadata();
  bytes.add('text', 'a');
  bytes.add('raw-bin', Buffer.from([0, 10, 255]));
  for (const metadata of [new Metadata(), several, bytes]) {
    const head = parted(joined(toValues(metadata, ['peer', 'host'])));
    assert.deepEqual(head.slice(0, 2), ['peer', 'host']);
    assert.deepEqual(toMetadata(head, 2).toJSON(), metadata.toJSON());
  }
});

test('texts cross as one text, and a line feed in one of them divides nothing', () => {
  assert.equal(typeof joined(['a', 'b', 'c', '']), 'string');
  const values: MetadataValues = ['a\nb', 'c', '', 'd\n'];
  assert.deepEqual(parted(joined(values)), values);
});
