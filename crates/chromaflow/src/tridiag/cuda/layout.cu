// Arrays from one layout into another.
//
// Entry e (of `inner` a system) of system s in groups of `lanes` systems side by side lies at
// (s / lanes) * inner * lanes + e * lanes + s % lanes: one lane is system by system, all systems one group is the
// system index fastest.

typedef STORE S;

__device__ __forceinline__ long long place(long long s, long long e, long long inner, int lanes) {
    return s / lanes * inner * lanes + e * lanes + s % lanes;
}

// The t-th place of a tile of 32 systems by 32 entries, in the order of memory where groups divide the tile.
__device__ __forceinline__ void in_order(int t, int lanes, int &s, int &e) {
    const int n = lanes < 32 && 32 % lanes == 0 ? lanes : 32;
    s = t / (32 * n) * n + t % n;
    e = t / n % 32;
}

extern "C" __global__ void __launch_bounds__(256) convert(Rearrange) {
    __shared__ S tile[32][33];
    const long long tiles = (inner + 31) / 32;
    const long long e0 = blockIdx.x % tiles * 32, s0 = blockIdx.x / tiles * 32;
    for (int t = threadIdx.x; t < 1024; t += 256) {
        int s, e;
        in_order(t, lanes_from, s, e);
        if (s0 + s < systems && e0 + e < inner) tile[e][s] = from[place(s0 + s, e0 + e, inner, lanes_from)];
    }
    __syncthreads();
    for (int t = threadIdx.x; t < 1024; t += 256) {
        int s, e;
        in_order(t, lanes_to, s, e);
        if (s0 + s < systems && e0 + e < inner) to[place(s0 + s, e0 + e, inner, lanes_to)] = tile[e][s];
    }
}
