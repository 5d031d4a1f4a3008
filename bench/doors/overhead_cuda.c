/* What a call with device pointers costs the host: microseconds until it returns, its work queued on the stream, on systems of a few
 * rows; the least of 50 batches of 100 calls, the stream empty before each. Beside it a memset of 8 bytes: what queueing anything costs.
 *
 *   cc -O2 overhead_cuda.c -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcudart $(pkg-config --cflags --libs chromaflow) -o overhead_cuda */
#include "overhead.h"
#include <cuda_runtime_api.h>

enum { CALLS = 100, BATCHES = 50 };

static void cuda(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  exit(1);
}

static double *values, *b, *x; /* on the device */
static cudaStream_t stream;

static chromaflow_array in(const double *v, int64_t n) {
  const chromaflow_array a = {v, n, CHROMAFLOW_F64, CHROMAFLOW_CUDA};
  return a;
}

static void call(chromaflow_solver *s, int what, int64_t n, int64_t entries) {
  const chromaflow_array_mut to = {x, n, CHROMAFLOW_F64, CHROMAFLOW_CUDA};
  switch (what) {
  case 0: cuda(cudaMemsetAsync(x, 0, 8, stream)); break;
  case 1: check(chromaflow_solver_multiply(s, in(b, n), to)); break;
  case 2: check(chromaflow_solver_apply(s, in(b, n), to)); break;
  default: check(chromaflow_solver_set_values(s, in(values, entries), chromaflow_none(), 0, NULL));
  }
}

static void *on_device(const double *from, size_t n) {
  void *to;
  cuda(cudaMalloc(&to, n * sizeof(double)));
  cuda(cudaMemcpy(to, from, n * sizeof(double), cudaMemcpyHostToDevice));
  return to;
}

int main(int argc, char **argv) {
  static const char *names[] = {"memset", "multiply", "apply", "set_values"};
  static double host[MOST * Q], ones[MOST * NB];
  const char *options = argc > 1 ? argv[1] : "preconditioner=multicolor,policy=d";
  int32_t row_ptr[MOST + 1], col_idx[MOST];
  chromaflow_context *context;
  for (int i = 0; i <= MOST; i++) row_ptr[i] = i;
  for (int i = 0; i < MOST; i++) col_idx[i] = i;
  for (int i = 0; i < MOST * Q; i++) host[i] = i % Q % (NB + 1) == 0 ? 2 : 0.125;
  for (int i = 0; i < MOST * NB; i++) ones[i] = 1;
  values = on_device(host, MOST * Q), b = on_device(ones, MOST * NB), x = on_device(ones, MOST * NB);
  cuda(cudaStreamCreate(&stream));
  check(chromaflow_context_create("device=0", stream, &context));
  printf("%s\n%-12s %10s %10s %10s\n", options, "rows", "1", "8", "64");
  for (int what = 0; what < 4; what++) {
    printf("%-12s", names[what]);
    for (int k = 0; k < 3; k++) {
      const int rows = sizes[k];
      chromaflow_solver *s;
      chromaflow_pattern p = {sizeof p, rows, NB, 0, chromaflow_in_i32(row_ptr, rows + 1), chromaflow_in_i32(col_idx, rows), 0};
      check(chromaflow_solver_create(context, &p, options, &s));
      call(s, 3, rows * NB, rows * Q);
      double least = 1e30;
      for (int batch = 0; batch < BATCHES; batch++) {
        cuda(cudaStreamSynchronize(stream));
        const double start = now();
        for (int i = 0; i < CALLS; i++) call(s, what, rows * NB, rows * Q);
        const double each = (now() - start) / CALLS;
        least = each < least ? each : least;
      }
      cuda(cudaStreamSynchronize(stream));
      printf(" %10.3f", least);
      chromaflow_solver_destroy(s);
    }
    printf("\n");
  }
  chromaflow_context_destroy(context);
  return 0;
}
