/* Every misuse gets its status and a text that names it; nothing crashes, nothing is printed. */
#define _GNU_SOURCE
#include <chromaflow.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect(int line, chromaflow_status found, chromaflow_status wanted, const char *fragment) {
  char text[1024];
  chromaflow_error_text(text, sizeof text);
  if (found == wanted && (found == CHROMAFLOW_OK || strstr(text, fragment))) return;
  fprintf(stderr, "line %d: status %d instead of %d, text: %s\n", line, (int)found, (int)wanted, text);
  failures++;
}
#define EXPECT(wanted, fragment, call) expect(__LINE__, call, CHROMAFLOW_##wanted, fragment)
#define GOOD(call) expect(__LINE__, call, CHROMAFLOW_OK, "")

enum { ROWS = 3, NB = 2, NNZB = 7, Q = NB * NB, UNKNOWNS = ROWS * NB };
static const int32_t row_ptr[] = {1, 3, 6, 8}, col_idx[] = {1, 2, 2, 1, 3, 3, 2};
static double values[NNZB * Q];
static double b[UNKNOWNS] = {3, 4, 2, 3, 3, 4}, x[UNKNOWNS];

static chromaflow_array in(const double *v, int64_t len) { return chromaflow_in_f64(v, len); }
static chromaflow_array_mut out(double *v, int64_t len) { return chromaflow_out_f64(v, len); }

static chromaflow_pattern pattern_of(const int32_t *ptr, int64_t rows, const int32_t *idx, int64_t nnzb) {
  chromaflow_pattern p = {sizeof p, rows, NB, 1, chromaflow_in_i32(ptr, rows + 1), chromaflow_in_i32(idx, nnzb), 0};
  return p;
}

static void contexts(void) {
  chromaflow_context *c = NULL;
  EXPECT(BAD_ARGUMENT, "did you mean `threads`?", chromaflow_context_create("thraeds=2", NULL, &c));
  EXPECT(BAD_ARGUMENT, "expected a whole number from 1", chromaflow_context_create("threads=0", NULL, &c));
  EXPECT(BAD_ARGUMENT, "100000000 threads are too many", chromaflow_context_create("threads=100000000", NULL, &c));
  EXPECT(BAD_ARGUMENT, "expected key=value", chromaflow_context_create("threads", NULL, &c));
  EXPECT(BAD_ARGUMENT, "stream without a device", chromaflow_context_create(NULL, &c, &c));
  EXPECT(BAD_ARGUMENT, "context is NULL", chromaflow_context_create(NULL, NULL, NULL));
  EXPECT(BAD_ARGUMENT, "context is NULL", chromaflow_context_log(NULL, 0, NULL, NULL));
  chromaflow_context_destroy(NULL);
  if (c) failures++;
}

static void patterns(chromaflow_context *c) {
  static const int32_t far[] = {1, 2, 2, 1, 9, 3, 2}, twice[] = {1, 2, 2, 1, 1, 3, 2}, zero[] = {0, 2, 2, 1, 3, 3, 2};
  static const int32_t falls[] = {1, 6, 3, 8}, lacks[] = {1, 2, 2, 1, 3, 1, 2};
  chromaflow_solver *s = NULL;
  int64_t row, col;
  chromaflow_pattern p = pattern_of(row_ptr, ROWS, far, NNZB);
  EXPECT(BAD_PATTERN, "row 2: column 9 is outside the matrix of 3 columns (indices count from 1)",
         chromaflow_solver_create(c, &p, NULL, &s));
  chromaflow_error_place(&row, &col);
  if (row != 2 || col != 9) failures++, fprintf(stderr, "place %d %d\n", (int)row, (int)col);
  p = pattern_of(row_ptr, ROWS, twice, NNZB);
  EXPECT(BAD_PATTERN, "row 2: column 1 is out of order or stored twice", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(row_ptr, ROWS, zero, NNZB);
  EXPECT(BAD_PATTERN, "col_idx[0] is 0: indices count from 1", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(falls, ROWS, col_idx, NNZB);
  EXPECT(BAD_PATTERN, "row_ptr decreases after row 2", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(row_ptr, ROWS, lacks, NNZB);
  EXPECT(BAD_PATTERN, "row 3 has no diagonal block", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(row_ptr, ROWS, col_idx, NNZB - 1);
  EXPECT(BAD_PATTERN, "row_ptr counts 7 blocks, but col_idx has 6", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(row_ptr, ROWS, col_idx, NNZB);
  p.rows = 4;
  EXPECT(BAD_ARGUMENT, "row_ptr has 4 entries", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(row_ptr, ROWS, col_idx, NNZB);
  p.nb = 129;
  EXPECT(BAD_ARGUMENT, "block size 129", chromaflow_solver_create(c, &p, NULL, &s));
  p.nb = NB, p.base = 2;
  EXPECT(BAD_ARGUMENT, "pattern.base is 2", chromaflow_solver_create(c, &p, NULL, &s));
  p.base = 1, p.size = 8;
  EXPECT(BAD_ARGUMENT, "sizeof(chromaflow_pattern)", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(NULL, ROWS, col_idx, NNZB);
  EXPECT(BAD_ARGUMENT, "row_ptr.data is NULL", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(row_ptr, ROWS, col_idx, NNZB);
  p.row_ptr.type = 77;
  EXPECT(BAD_ARGUMENT, "row_ptr.type is 77", chromaflow_solver_create(c, &p, NULL, &s));
  p.row_ptr.type = p.col_idx.type = CHROMAFLOW_F64;
  EXPECT(BAD_ARGUMENT, "expected integers", chromaflow_solver_create(c, &p, NULL, &s));
  p = pattern_of(row_ptr, ROWS, col_idx, NNZB);
  EXPECT(BAD_ARGUMENT, "did you mean `preconditioner`?", chromaflow_solver_create(c, &p, "preconditoner=ilu0", &s));
  setenv("CHROMAFLOW_OPTIONS", "tolerance=2", 1);
  EXPECT(BAD_ARGUMENT, "CHROMAFLOW_OPTIONS: tolerance", chromaflow_solver_create(c, &p, NULL, &s));
  unsetenv("CHROMAFLOW_OPTIONS");
  EXPECT(BAD_ARGUMENT, "pattern is NULL", chromaflow_solver_create(c, NULL, NULL, &s));
  if (s) failures++;
}

static void vectors(chromaflow_solver *s) {
  double bad[NNZB * Q], wrong[UNKNOWNS];
  int64_t row, col;
  EXPECT(NO_VALUES, "no values", chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), NULL));
  EXPECT(NO_VALUES, "no values", chromaflow_solver_apply(s, in(b, UNKNOWNS), out(x, UNKNOWNS)));
  EXPECT(BAD_ARGUMENT, "values has 27 values, expected 28",
         chromaflow_solver_set_values(s, in(values, NNZB * Q - 1), chromaflow_none(), 0, NULL));
  EXPECT(BAD_ARGUMENT, "layout 5", chromaflow_solver_set_values(s, in(values, NNZB * Q), chromaflow_none(), 5, NULL));
  EXPECT(BAD_ARGUMENT, "give all blocks in one array",
         chromaflow_solver_set_values(s, in(values, NNZB * Q), in(values, ROWS * Q), 0, NULL));
  memcpy(bad, values, sizeof bad);
  bad[4 * Q + 1] = NAN;
  EXPECT(NOT_FINITE, "block row 2, block column 3: entry (1, 0)",
         chromaflow_solver_set_values(s, in(bad, NNZB * Q), chromaflow_none(), CHROMAFLOW_COLUMN_MAJOR, NULL));
  chromaflow_error_place(&row, &col);
  if (row != 2 || col != 3) failures++, fprintf(stderr, "place %d %d\n", (int)row, (int)col);
  memcpy(bad, values, sizeof bad);
  memset(bad, 0, Q * sizeof *bad);
  EXPECT(SINGULAR, "row 1", chromaflow_solver_set_values(s, in(bad, NNZB * Q), chromaflow_none(), 0, NULL));
  GOOD(chromaflow_solver_set_values(s, in(values, NNZB * Q), chromaflow_none(), 0, NULL));
  EXPECT(BAD_ARGUMENT, "b has 5 values, expected 6", chromaflow_solver_solve(s, in(b, 5), out(x, UNKNOWNS), NULL));
  EXPECT(BAD_ARGUMENT, "x.len is -1", chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, -1), NULL));
  EXPECT(BAD_ARGUMENT, "b and x share memory", chromaflow_solver_solve(s, in(x, UNKNOWNS), out(x, UNKNOWNS), NULL));
  EXPECT(BAD_ARGUMENT, "x.data is NULL", chromaflow_solver_solve(s, in(b, UNKNOWNS), out(NULL, UNKNOWNS), NULL));
  EXPECT(BAD_ARGUMENT, "not aligned",
         chromaflow_solver_apply(s, in((const double *)((const char *)b + 1), UNKNOWNS - 1), out(x, UNKNOWNS)));
  EXPECT(BAD_ARGUMENT, "CHROMAFLOW_I64, expected CHROMAFLOW_F64",
         chromaflow_solver_apply(s, chromaflow_in(b, UNKNOWNS, CHROMAFLOW_I64), out(x, UNKNOWNS)));
  chromaflow_array device = in(b, UNKNOWNS);
  device.place = CHROMAFLOW_CUDA;
  EXPECT(UNSUPPORTED, "r lies on a device", chromaflow_solver_apply(s, device, out(x, UNKNOWNS)));
  device.place = 9;
  EXPECT(BAD_ARGUMENT, "r.place is 9", chromaflow_solver_apply(s, device, out(x, UNKNOWNS)));
  memcpy(wrong, b, sizeof b);
  wrong[3] = INFINITY;
  EXPECT(NOT_FINITE, "b[3] is inf", chromaflow_solver_solve(s, in(wrong, UNKNOWNS), out(x, UNKNOWNS), NULL));
  chromaflow_report report = {.size = 3};
  EXPECT(BAD_ARGUMENT, "sizeof(chromaflow_report)",
         chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), &report));
  EXPECT(BAD_ARGUMENT, "did you mean `restart`?", chromaflow_solver_option(s, "restrat", "30"));
  EXPECT(BAD_ARGUMENT, "expected a number from 0 to below 1", chromaflow_solver_option(s, "tolerance", "-1"));
  EXPECT(BAD_ARGUMENT, "fixed when the solver is set up", chromaflow_solver_option(s, "preconditioner", "multicolor"));
  EXPECT(BAD_ARGUMENT, "solver is NULL", chromaflow_solver_option(NULL, "restart", "30"));
  report.size = sizeof report;
  memset(x, 0, sizeof x);
  GOOD(chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), &report));
  if (report.outcome != CHROMAFLOW_CONVERGED || fabs(x[4] - 1) > 1e-9) failures++;
}

/* A callback that uses its own solver, from a second thread and from this one. */
static chromaflow_solver *busy;
static void *second(void *status) {
  static double r[UNKNOWNS], z[UNKNOWNS];
  *(chromaflow_status *)status = chromaflow_solver_apply(busy, in(r, UNKNOWNS), out(z, UNKNOWNS));
  return NULL;
}
static int32_t product(void *user, chromaflow_array from, chromaflow_array_mut to) {
  pthread_t thread;
  chromaflow_status there = CHROMAFLOW_OK;
  pthread_create(&thread, NULL, second, &there);
  pthread_join(thread, NULL);
  if (there != CHROMAFLOW_BAD_ARGUMENT) failures++, fprintf(stderr, "a second thread was let in\n");
  EXPECT(BAD_ARGUMENT, "one call at a time on a handle", chromaflow_solver_option(busy, "restart", "30"));
  memcpy(to.data, from.data, UNKNOWNS * sizeof(double));
  return *(int32_t *)user;
}

/* With products of the caller's, those of the identity. */
static void solve_identity(chromaflow_solver *s, int32_t *status) {
  chromaflow_report report = {.size = sizeof report};
  busy = s;
  GOOD(chromaflow_solver_operator(s, product, status));
  memset(x, 0, sizeof x);
  GOOD(chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), &report));
  if (report.outcome != CHROMAFLOW_CONVERGED || fabs(x[4] - b[4]) > 1e-9) failures++;
}

static void callbacks(chromaflow_solver *s) {
  int32_t status = 0;
  solve_identity(s, &status);
  status = 3;
  EXPECT(CALLBACK, "the operator returned 3", chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), NULL));
  GOOD(chromaflow_solver_operator(s, NULL, NULL));
}

/* Three rows in a ring, cut before the first: columns 4 and 5 are rows 3 and 1 again. */
static int32_t phases;
static int32_t around(void *user, int32_t phase, chromaflow_array_mut v, int32_t nb) {
  double *row = v.data;
  if (v.len != 5 * NB || nb != NB) failures++;
  phases += phase == 0 ? 1 : 100;
  if (phase == 1) memcpy(row + 3 * NB, row + 2 * NB, NB * sizeof *row), memcpy(row + 4 * NB, row, NB * sizeof *row);
  return *(int32_t *)user;
}
static int32_t sum(void *user, double *v, int32_t n) {
  (void)v;
  return n < 1 ? -1 : ((int32_t *)user)[1];
}
static int32_t second_only(void *user, int64_t iteration, double residual) {
  (void)user;
  return iteration >= 2 && residual < 1 ? 42 : 0;
}

/* Factors alone: for apply and for products of the caller's. */
static void factors_alone(chromaflow_context *c) {
  static const int32_t ptr[] = {0, 2, 5, 7}, idx[] = {0, 1, 0, 1, 2, 1, 2};
  static double blocks[7 * Q], y[UNKNOWNS];
  int32_t status = 0;
  chromaflow_pattern p = pattern_of(ptr, ROWS, idx, 7);
  chromaflow_solver *s = NULL;
  for (int k = 0; k < 7; k++) memcpy(blocks + k * Q, values + (k % 3 ? Q : 0), Q * sizeof(double));
  p.base = 0;
  GOOD(chromaflow_solver_create(c, &p, "keep_matrix=no", &s));
  EXPECT(NO_VALUES, "no values", chromaflow_solver_apply(s, in(b, UNKNOWNS), out(x, UNKNOWNS)));
  blocks[5 * Q + 1] = NAN;
  EXPECT(NOT_FINITE, "block row 2, block column 1: entry (1, 0)",
         chromaflow_solver_set_values(s, in(blocks, 7 * Q), chromaflow_none(), 0, NULL));
  blocks[5 * Q + 1] = 0;
  GOOD(chromaflow_solver_set_values(s, in(blocks, 7 * Q), chromaflow_none(), 0, NULL));
  GOOD(chromaflow_solver_apply(s, in(b, UNKNOWNS), out(y, UNKNOWNS)));
  EXPECT(NO_VALUES, "keep_matrix=yes", chromaflow_solver_multiply(s, in(b, UNKNOWNS), out(x, UNKNOWNS)));
  EXPECT(NO_VALUES, "keep_matrix=yes", chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), NULL));
  EXPECT(BAD_ARGUMENT, "fixed when the solver is set up", chromaflow_solver_option(s, "keep_matrix", "yes"));
  solve_identity(s, &status);
  chromaflow_solver_destroy(s);
}

static void ranks(chromaflow_context *c) {
  static const int32_t ptr[] = {1, 4, 7, 10}, idx[] = {4, 1, 2, 1, 2, 3, 2, 3, 5};
  static double blocks[9 * Q], y[2 * UNKNOWNS], two[2 * UNKNOWNS];
  int32_t status[2] = {0, 0};
  chromaflow_pattern p = pattern_of(ptr, ROWS, idx, 9);
  chromaflow_solver *s = NULL;
  EXPECT(BAD_PATTERN, "row 1: column 4 is outside the matrix of 3 columns", chromaflow_solver_create(c, &p, NULL, &s));
  p.ghosts = -1;
  EXPECT(BAD_ARGUMENT, "pattern.ghosts is -1", chromaflow_solver_create(c, &p, NULL, &s));
  p.ghosts = 2, p.size = sizeof p - 8; /* a program of an older header has no such member */
  EXPECT(BAD_PATTERN, "row 1: column 4 is outside the matrix of 3 columns", chromaflow_solver_create(c, &p, NULL, &s));
  p.size = sizeof p;
  GOOD(chromaflow_solver_create(c, &p, "preconditioner=multicolor, sweeps=2, policy=d", &s));
  for (int k = 0; k < 9; k++) memcpy(blocks + k * Q, values + (k == 1 || k == 4 || k == 7 ? 0 : Q), Q * sizeof(double));
  blocks[1] = NAN;
  EXPECT(NOT_FINITE, "block row 1, block column 4", chromaflow_solver_set_values(s, in(blocks, 9 * Q), chromaflow_none(), 0, NULL));
  blocks[1] = 0;
  GOOD(chromaflow_solver_set_values(s, in(blocks, 9 * Q), chromaflow_none(), 0, NULL));
  EXPECT(BAD_ARGUMENT, "2 ghost columns", chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), NULL));
  EXPECT(BAD_ARGUMENT, "ranks need both", chromaflow_solver_distribute(s, around, NULL, NULL));
  GOOD(chromaflow_solver_distribute(s, around, sum, status));
  for (int i = 0; i < 2 * UNKNOWNS; i++) two[i] = i % NB ? 3 : 2, y[i] = 0; /* row sums: 4 - 2, 1 + 4 - 2 */
  for (int i = UNKNOWNS; i < 2 * UNKNOWNS; i++) two[i] *= -0.5;
  chromaflow_report reports[2] = {{.size = sizeof *reports}, {.size = sizeof *reports}};
  GOOD(chromaflow_solver_solve_many(s, 2, in(two, 2 * UNKNOWNS), out(y, 2 * UNKNOWNS), reports));
  for (int i = 0; i < UNKNOWNS; i++)
    if (fabs(y[i] - 1) > 1e-9 || fabs(y[UNKNOWNS + i] + 0.5) > 1e-9) failures++, fprintf(stderr, "y[%d] = %g\n", i, y[i]);
  for (int i = 0; i < 2; i++)
    if (reports[i].outcome != CHROMAFLOW_CONVERGED || reports[i].history_len != reports[i].iterations + 1 ||
        reports[i].history[reports[i].iterations] > 1e-10)
      failures++, fprintf(stderr, "report %d\n", i);
  if (phases < 202 || phases % 100 != phases / 100) failures++, fprintf(stderr, "phases %d\n", (int)phases);
  EXPECT(BAD_ARGUMENT, "b has 12 values, expected 18",
         chromaflow_solver_solve_many(s, 3, in(two, 2 * UNKNOWNS), out(y, 2 * UNKNOWNS), NULL));
  EXPECT(BAD_ARGUMENT, "count is -1", chromaflow_solver_solve_many(s, -1, in(two, 0), out(y, 0), NULL));
  GOOD(chromaflow_solver_solve_many(s, 0, in(two, 0), out(y, 0), NULL));
  /* An array of no reports has no first one, wherever it is. */
  GOOD(chromaflow_solver_solve_many(s, 0, in(two, 0), out(y, 0), (chromaflow_report *)8));
  status[0] = 7;
  EXPECT(CALLBACK, "the exchange returned 7", chromaflow_solver_multiply(s, in(two, UNKNOWNS), out(y, UNKNOWNS)));
  EXPECT(CALLBACK, "the exchange returned 7", chromaflow_solver_apply(s, in(two, UNKNOWNS), out(y, UNKNOWNS)));
  EXPECT(CALLBACK, "the exchange returned 7", chromaflow_solver_solve(s, in(two, UNKNOWNS), out(y, UNKNOWNS), NULL));
  status[0] = 0, status[1] = 8;
  memset(y, 0, sizeof y);
  EXPECT(CALLBACK, "the reduction returned 8", chromaflow_solver_solve(s, in(two, UNKNOWNS), out(y, UNKNOWNS), NULL));
  status[1] = 0;
  GOOD(chromaflow_solver_monitor(s, second_only, NULL));
  GOOD(chromaflow_solver_option(s, "tolerance", "1e-15"));
  memset(y, 0, sizeof y);
  GOOD(chromaflow_solver_solve(s, in(b, UNKNOWNS), out(y, UNKNOWNS), reports));
  if (reports->outcome != CHROMAFLOW_STOPPED || reports->iterations != 2) failures++, fprintf(stderr, "the monitor did not stop\n");
  GOOD(chromaflow_solver_monitor(s, NULL, NULL));
  chromaflow_solver_destroy(s);
}

static void in_a_child(chromaflow_context *c, chromaflow_solver *s) {
  const pid_t child = fork();
  if (child == 0) {
    failures = 0;
    EXPECT(BAD_ARGUMENT, "before a fork", chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), NULL));
    chromaflow_solver_destroy(s);
    chromaflow_context_destroy(c);
    _exit(failures);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) failures++, fprintf(stderr, "the child failed\n");
}

static size_t held(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static void updates(chromaflow_solver *s, int count) {
  size_t before = 0;
  for (int i = 0; i < count; i++) {
    if (i == 10) before = held();
    GOOD(chromaflow_solver_set_values(s, in(values, NNZB * Q), chromaflow_none(), 0, NULL));
    memset(x, 0, sizeof x);
    GOOD(chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), NULL));
  }
  if (held() > before + 4096) failures++, fprintf(stderr, "%zu bytes became %zu\n", before, held());
}

static void lines(chromaflow_context *c) {
  /* -u_{i-1} + 2 u_i - u_{i+1} = 0 with u = 1 beyond the right end, twice; lines fastest, one more place between rows. */
  double lower[12] = {0}, diag[12] = {0}, upper[12] = {0}, f[12] = {0}, once[12];
  chromaflow_shape shape = {sizeof shape, 2, 4, 1, 0, 1, 3, 12};
  chromaflow_lines *l = NULL;
  for (int i = 0; i < 4; i++)
    for (int s = 0; s < 2; s++) lower[3 * i + s] = upper[3 * i + s] = -1, diag[3 * i + s] = 2;
  f[9] = 1, f[10] = 2, f[2] = 77;
  memcpy(once, f, sizeof f);
  EXPECT(BAD_ARGUMENT, "expected double, single, mixed", chromaflow_lines_create(c, &shape, "precision=half", &l));
  shape.row = 1;
  EXPECT(BAD_ARGUMENT, "share a place", chromaflow_lines_create(c, &shape, NULL, &l));
  shape.row = 3, shape.rank = 65;
  EXPECT(BAD_ARGUMENT, "rank 65", chromaflow_lines_create(c, &shape, NULL, &l));
  shape.rank = 1;
  GOOD(chromaflow_lines_create(c, &shape, NULL, &l));
  EXPECT(NO_VALUES, "no factors", chromaflow_lines_solve(l, out(f, 12)));
  EXPECT(BAD_ARGUMENT, "`diag` has 10 entries", chromaflow_lines_factor(l, in(lower, 12), in(diag, 10), in(upper, 12)));
  GOOD(chromaflow_lines_factor(l, in(lower, 12), in(diag, 12), in(upper, 12)));
  GOOD(chromaflow_lines_solve(l, out(f, 11)));
  GOOD(chromaflow_lines_solve_once(l, in(lower, 12), in(diag, 12), in(upper, 12), out(once, 12)));
  for (int i = 0; i < 4; i++)
    for (int s = 0; s < 2; s++)
      if (fabs(f[3 * i + s] - (s + 1) * (i + 1) / 5.0) > 1e-14 || f[3 * i + s] != once[3 * i + s]) failures++;
  if (f[2] != 77) failures++, fprintf(stderr, "what lies between the rows was written\n");
  diag[4] = 0.5, lower[4] = -1, diag[1] = 2;
  EXPECT(SINGULAR, "line 1, row 1", chromaflow_lines_factor(l, in(lower, 12), in(diag, 12), in(upper, 12)));
  chromaflow_lines_destroy(l);
}

/* Any argument: for memory checkers, which are slow and count what a child leaves to its parent as lost. */
int main(int argc, char **argv) {
  (void)argv;
  static const double diagonal[Q] = {4, 1, 0, 4}, off[Q] = {-1, 0, 0, -1};
  for (int k = 0; k < NNZB; k++) memcpy(values + k * Q, k == 0 || k == 2 || k == 5 ? diagonal : off, sizeof off);
  chromaflow_context *c = NULL;
  chromaflow_solver *s = NULL;
  contexts();
  GOOD(chromaflow_context_create("threads=2", NULL, &c));
  patterns(c);
  chromaflow_pattern p = pattern_of(row_ptr, ROWS, col_idx, NNZB);
  GOOD(chromaflow_solver_create(c, &p, NULL, &s));
  vectors(s);
  callbacks(s);
  factors_alone(c);
  ranks(c);
  if (argc == 1) in_a_child(c, s);
  updates(s, argc == 1 ? 1010 : 20);
  lines(c);
  chromaflow_context_destroy(c); /* before its solver */
  GOOD(chromaflow_solver_solve(s, in(b, UNKNOWNS), out(x, UNKNOWNS), NULL));
  chromaflow_solver_destroy(s);
  return failures != 0;
}
