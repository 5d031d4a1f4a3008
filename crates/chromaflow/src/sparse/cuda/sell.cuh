// Sliced blocks (SELL-C-sigma), as an assembly on the device may write them and as products and sweeps read them.
// Includes nothing.
//
// The rows of a batch stand in chunks of so many (`height`) rows, padded to their longest. Lane row nb + column owns
// one column of its row's blocks. Slots, the blocks of a row one after another, come in pairs: the 2 nb values of a
// lane lie in vectors of 16, 8 and 4 bytes, vector by vector over the lanes, so that every request of a warp is whole
// lines. An odd last slot stands alone in the same way. Rows that are shorter than their chunk end with zeros. Twin:
// InPlace in mod.rs. Source: Kreutzer, Hager, Wellein, Fehske, Bishop (2014), SIAM J. Sci. Comput. 36(5), with blocks
// for scalars and pairs of slots.
namespace sell {
struct Chunk {
    unsigned int slot;   // slots of all chunks before it
    unsigned int slots;  // slots of this chunk
    unsigned int row;    // place of its first row in the order of the chunks
    unsigned int rows;   // rows, at most `height`
};

// Where value e of the n of a lane stands among those of `lanes` lanes, with n = 2 size in a pair of slots and size in
// one alone.
template <class Value, int size>
__device__ __forceinline__ unsigned int place(unsigned int lanes, unsigned int n, unsigned int lane, unsigned int e) {
    constexpr unsigned int vector = 16 / sizeof(Value);
    const unsigned int whole = n / vector * vector, last = n - whole;
    if (e < whole) return (e / vector * lanes + lane) * vector + e % vector;
    // Three floats are one piece of 8 bytes and one of 4.
    if (vector == 4 && size % 4 == 3 && last == 3)
        return whole * lanes + (e - whole < 2 ? lane * 2 + e - whole : lanes * 2 + lane);
    return whole * lanes + lane * last + e - whole;
}

// The blocks, size x size, of a chunk of `height` rows, of doubles or floats.
template <int size, int height, class Value> struct BlockSink {
    Value* out;
    unsigned int slots;

    __device__ BlockSink(Value* values, const Chunk& chunk)
        : out(values + (unsigned long long)chunk.slot * (height * size * size)), slots(chunk.slots) {}

    // Entry (r, c) of the block in a slot of a row of the chunk.
    __device__ Value& at(unsigned int row, unsigned int slot, unsigned int r, unsigned int c) const {
        const unsigned int n = (slot | 1) < slots ? 2 * size : size;
        const unsigned int at = place<Value, size>(height * size, n, row * size + c, slot % 2 * size + r);
        return out[(unsigned long long)(slot / 2) * (2 * height * size * size) + at];
    }

    // A whole block, column-major.
    template <class Block> __device__ void put(unsigned int row, unsigned int slot, const Block& block) const {
        for (int c = 0; c < size; c++)
            for (int r = 0; r < size; r++) at(row, slot, r, c) = (Value)block[c * size + r];
    }
};
}  // namespace sell
