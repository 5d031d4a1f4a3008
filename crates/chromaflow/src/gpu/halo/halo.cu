// Rows of a vector on their way between ranks, in words of four bytes: a row has `words` of them. `boxes` are the
// addresses of messages, two for each neighbor, which take turns; bit n of `turns` says which is neighbor n's next.
//
// A thread a word: words of a row are adjacent, so that rows are read and written in whole sectors.
//
// Where each rank has a device of its own, messages are told and awaited by numbers as the rows of sweeps are
// (direct.cuh); those of an exchange are told by the last thread block that writes.
#define AT const u64 at = (u64)blockIdx.x * 256 + threadIdx.x

__device__ __forceinline__ u32* place_in_box(const u64* boxes, u64 turns, uint2 place, u32 words) {
    const u64 box = boxes[2 * place.x + (u32)(turns >> place.x & 1)];
    return reinterpret_cast<u32*>(box) + (u64)place.y * words;
}

#define WORD                                                     \
    AT;                                                          \
    const u32 row = (u32)(at / words), word = (u32)(at % words); \
    if (row < count)
#define SEND WORD place_in_box(boxes, turns, places[row], words)[word] = x[(u64)rows[row] * words + word]
#define RECEIVE WORD x[(u64)rows[row] * words + word] = place_in_box(boxes, turns, places[row], words)[word]

// Into the messages; the boxes may lie in the memory of other devices.
extern "C" __global__ void __launch_bounds__(256) send_rows(RowsInBoxes) {
    SEND;
}

// Out of them.
extern "C" __global__ void __launch_bounds__(256) receive_rows(RowsInBoxes) {
    RECEIVE;
}

// The same, and the neighbors are told; and out of messages that were told.
extern "C" __global__ void __launch_bounds__(256) send_and_tell(RowsInBoxes, Posts) {
    __shared__ mail::Desk desk;
    mail::prepare(desk, mail_of, step);
    SEND;
    mail::post(desk, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(256) await_and_receive(RowsInBoxes, Posts) {
    __shared__ mail::Desk desk;
    mail::prepare(desk, mail_of, step + 1);
    __syncthreads();
    mail::wait(mail_of, desk);
    RECEIVE;
}

// Some rows of x one after the other, and back.
extern "C" __global__ void __launch_bounds__(256) gather_rows(RowsOfVector) {
    WORD packed[at] = x[(u64)rows[row] * words + word];
}
extern "C" __global__ void __launch_bounds__(256) scatter_rows(RowsOfVector) {
    WORD x[(u64)rows[row] * words + word] = packed[at];
}

// Zeros.
extern "C" __global__ void __launch_bounds__(256) clear_rows(RowsOfVector) {
    WORD x[(u64)rows[row] * words + word] = 0;
}

// NaN in every precision: what is read before it comes, or does not come, shows.
extern "C" __global__ void __launch_bounds__(256) poison_rows(RowsOfVector) {
    WORD x[(u64)rows[row] * words + word] = 0xffffffffu;
}

// Rows of f32 or f64 that are images of others, as dist/images.rs has them; on the axis rows are their own. A thread an
// image.
template <class X>
__device__ __forceinline__ void turn_row(u32 width, const double* turn, const X* from, X* to) {
    const u32 count = width > 7 ? 5 : width, first = width == 3 ? 0 : 1;
    double v[3] = {0, 0, 0};
    const bool turns = width == 3 || width >= 5;
    if (turns)
        for (int d = 0; d < 3; d++) v[d] = from[first + d];
    for (u32 k = 0; k < count; k++) {
        const bool turned = turns && k >= first && k < first + 3;
        const double* row = turn + 3 * (k - first);
        to[k] = turned ? (X)(row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) : from[k];
    }
}
extern "C" __global__ void __launch_bounds__(256) image_rows(ImagesOfRows) {
    AT;
    if (at >= count) return;
    const uint2 row = rows[at];
    const double* turn = turns + 9 * (u64)turn_of[at];
    if (wide) {
        double* all = reinterpret_cast<double*>(x);
        turn_row(width, turn, all + (u64)row.y * width, all + (u64)row.x * width);
    } else {
        float* all = reinterpret_cast<float*>(x);
        turn_row(width, turn, all + (u64)row.y * width, all + (u64)row.x * width);
    }
}

// Blocks in the columns of images, times what turns these, where they belong, one after another. A warp a place, a
// thread a number: of row r, the sum over m of B[r, m] turn[m, c] in a column c of the vector.
template <class X>
__device__ __forceinline__ double folded(u32 nb, u32 vector, u32 r, u32 c, const X* block, const double* turn) {
    if (vector == 0xffffffffu || c < vector || c >= vector + 3) return block[c * nb + r];
    const X* first = block + vector * nb + r;
    const double* column = turn + (c - vector);
    return (double)first[0] * column[0] + (double)first[nb] * column[3] + (double)first[2 * nb] * column[6];
}
extern "C" __global__ void __launch_bounds__(32) fold_blocks(FoldedBlocks) {
    const u32 place = blockIdx.x, q = nb * nb;
    const uint2 where = places[place];
    const bool diagonal = where.y & 1, adds = where.y & 2;
    double* doubles_there = reinterpret_cast<double*>(into);
    float* floats_there = reinterpret_cast<float*>(into);
    for (u32 e = threadIdx.x; e < q; e += 32) {
        const u64 to = (u64)where.x * q + e;
        const u32 r = e % nb, c = e / nb;
        double sum = 0;
        if (adds) sum = diagonal ? diag[to] : wide ? doubles_there[to] : floats_there[to];
        for (u32 k = begins[place]; k < begins[place + 1]; k++) {
            const uint2 block = blocks[k];
            const u64 from = (u64)block.x * q;
            const double* turn = turns + 9 * block.y;
            const double* doubles = reinterpret_cast<const double*>(off) + from;
            const float* floats = reinterpret_cast<const float*>(off) + from;
            sum += wide ? folded(nb, vector, r, c, doubles, turn) : folded(nb, vector, r, c, floats, turn);
        }
        if (diagonal)
            diag[to] = sum;
        else if (wide)
            doubles_there[to] = sum;
        else
            floats_there[to] = (float)sum;
    }
}

// Unit matrices, column-major, in place of the diagonal blocks of some rows.
extern "C" __global__ void __launch_bounds__(256) identity_rows(UnitRows) {
    AT;
    const u32 q = nb * nb, row = (u32)(at / q), e = (u32)(at % q);
    if (row < count) diag[(u64)rows[row] * q + e] = e % (nb + 1) == 0 ? 1.0 : 0.0;
}

// Zeros in place of the off-diagonal blocks of some rows, of `words` words each; a thread block a row.
extern "C" __global__ void __launch_bounds__(128) empty_rows(EmptyRows) {
    const u32 row = rows[blockIdx.x];
    const u64 end = (u64)row_ptr[row + 1] * words;
    for (u64 at = (u64)row_ptr[row] * words + threadIdx.x; at < end; at += 128) off[at] = 0;
}

// The first step of sweeps that pass rows themselves, steps without rows to pass, and the last wait (direct.cuh).
extern "C" __global__ void __launch_bounds__(32) post_step(Posts) {
    __shared__ mail::Desk desk;
    mail::delay();
    mail::prepare(desk, mail_of, step);
    __syncthreads();
    mail::tell(desk, 32);
}

// All rows of the last step are here; the next launch counts on from this one.
extern "C" __global__ void __launch_bounds__(32) end_steps(Posts) {
    __shared__ mail::Desk desk;
    mail::prepare(desk, mail_of, step + 1);
    __syncthreads();
    mail::wait(mail_of, desk);
    if (threadIdx.x == 0) *mail_of->base += step + 1;
}
