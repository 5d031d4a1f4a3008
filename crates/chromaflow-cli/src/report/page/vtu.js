// Reads the .vtu files of a run: raw appended arrays, plain or in zlib blocks.
async function readVtu(bytes) {
  const marker = new TextEncoder().encode('<AppendedData encoding="raw">\n_');
  let start = -1;
  for (let i = 0; i < Math.min(bytes.length, 1 << 20) && start < 0; i++) {
    let k = 0;
    while (k < marker.length && bytes[i + k] === marker[k]) k++;
    if (k === marker.length) start = i + k;
  }
  if (start < 0) throw new Error("no appended data in the .vtu file");
  const head = new TextDecoder().decode(bytes.subarray(0, start));
  const compressed = head.includes("vtkZLibDataCompressor");
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const u64 = at => Number(view.getBigUint64(at, true));
  const inflate = async block => {
    const stream = new Blob([block]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const read = async offset => {
    let at = start + offset;
    if (!compressed) return bytes.slice(at + 8, at + 8 + u64(at));
    const count = u64(at), parts = [];
    let from = at + 24 + 8 * count, length = 0;
    for (let b = 0; b < count; b++) {
      const size = u64(at + 24 + 8 * b);
      parts.push(await inflate(bytes.subarray(from, from + size)));
      length += parts[b].length;
      from += size;
    }
    const all = new Uint8Array(length);
    length = 0;
    for (const part of parts) { all.set(part, length); length += part.length; }
    return all;
  };
  const kinds = { Float32: Float32Array, Float64: Float64Array, Int32: Int32Array, Int64: BigInt64Array, UInt8: Uint8Array };
  const arrays = {};
  const tag = /<DataArray type="(\w+)" Name="([^"]*)" NumberOfComponents="(\d+)" format="appended" offset="(\d+)"/g;
  for (const [, kind, name, components, offset] of head.matchAll(tag)) {
    arrays[name] = { values: new kinds[kind]((await read(Number(offset))).buffer), components: Number(components) };
  }
  return arrays;
}

// Triangles of the cells that are triangles or quadrilaterals, with their markers; null where there are none.
function triangles(arrays, keep) {
  const [nodes, ends, types] = ["connectivity", "offsets", "types"].map(name => arrays[name].values);
  const markers = arrays.marker && arrays.marker.values;
  const corners = [];
  for (let c = 0, from = 0; c < types.length; from = Number(ends[c++])) {
    if (markers && !keep(markers[c])) continue;
    const n = i => Number(nodes[from + i]);
    if (types[c] === 5 || types[c] === 9) corners.push(n(0), n(1), n(2));
    if (types[c] === 9) corners.push(n(0), n(2), n(3));
  }
  return corners.length ? Uint32Array.from(corners) : null;
}
