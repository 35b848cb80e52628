"use strict";

/* Reads the values and arrays of the page from its one block of text; mcgta/report/pictures/packing.py writes it. */

const ARRAY_TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

async function unpack(id) {
  const binary = atob(document.getElementById(id).textContent.trim());
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < packed.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const content = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(content.buffer).getUint32(0, true);
  const arrays = content.subarray(4 + size);
  const text = new TextDecoder().decode(content.subarray(4, 4 + size));
  return JSON.parse(text, (key, value) => (value && value.array ? readArray(arrays, ...value.array) : value));
}

/* Numbers are stored as planes of bytes, the lowest first; summed ones as the difference from each to the next. */
function readArray(bytes, type, offset, count, summed) {
  const numbers = new ARRAY_TYPES[type](count);
  for (let plane = 0; plane < numbers.BYTES_PER_ELEMENT; plane++) {
    const start = offset + plane * count;
    const shift = 8 * plane;
    for (let i = 0; i < count; i++) numbers[i] |= bytes[start + i] << shift;
  }
  if (summed) for (let i = 1; i < count; i++) numbers[i] += numbers[i - 1];
  return numbers;
}
