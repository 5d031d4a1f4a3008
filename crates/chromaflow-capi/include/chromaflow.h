/* Chromaflow: block-sparse linear solvers for implicit flow codes.
 *
 *   chromaflow_context *context;
 *   chromaflow_solver *solver;
 *   chromaflow_context_create("threads=8", NULL, &context);
 *   chromaflow_pattern pattern = {sizeof pattern, rows, nb, 0,
 *     chromaflow_in_i32(row_ptr, rows + 1), chromaflow_in_i32(col_idx, nnzb), 0};
 *   chromaflow_solver_create(context, &pattern, "preconditioner=ilu0, tolerance=1e-8", &solver);   // once a mesh
 *   for (;;) {
 *     chromaflow_solver_set_values(solver, chromaflow_in_f64(blocks, nnzb * nb * nb), chromaflow_none(),
 *                                  CHROMAFLOW_ROW_MAJOR, NULL);                                     // a new Jacobian
 *     chromaflow_solver_solve(solver, chromaflow_in_f64(b, n), chromaflow_out_f64(x, n), &report);
 *   }
 *
 * Every function but the four that cannot fail returns a status; chromaflow_error_text says what was wrong, where, and what
 * to do. That a solve does not converge is no error but an outcome in its report.
 *
 * Ownership: arrays are borrowed during the call and never kept. A context may be destroyed before its solvers.
 * Threads: one call at a time on a handle, from any thread (a second is refused, not queued); different handles at once.
 * Nothing is global: no initialization, no output to the screen, no signal handler, no change of the caller's threads.
 * Memory: the matrix in f64, and what the preconditioner keeps; calls after the first of their kind allocate no more of it.
 */
#ifndef CHROMAFLOW_H
#define CHROMAFLOW_H
#include <stddef.h>
#include <stdint.h>

/* Also the number in the library's SONAME. Within a number functions, and members at the end of structs, are only added. */
#define CHROMAFLOW_API 1

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t chromaflow_status;
enum {
  CHROMAFLOW_OK = 0,
  CHROMAFLOW_BAD_ARGUMENT = 1, /* a length, type, option, handle; two calls on one handle at once */
  CHROMAFLOW_BAD_PATTERN = 2,  /* index arrays that make no pattern */
  CHROMAFLOW_NOT_FINITE = 3,   /* NaN or infinity in values, right-hand side or first guess; values beyond f32 where the policy has it */
  CHROMAFLOW_SINGULAR = 4,     /* a diagonal block, or a line, without inverse */
  CHROMAFLOW_NO_VALUES = 5,    /* nothing to solve with yet */
  CHROMAFLOW_UNSUPPORTED = 6,  /* not to be had on this device or for this type */
  CHROMAFLOW_NO_MEMORY = 7,    /* the system refused memory or a thread */
  CHROMAFLOW_DEVICE = 8,       /* the GPU or its driver */
  CHROMAFLOW_CALLBACK = 9,     /* a callback of the caller's returned something else than 0 */
  CHROMAFLOW_BUG = 10,         /* an error of ours; the handle refuses all work from then on */
  CHROMAFLOW_MPI = 11          /* no MPI under way, or another rank that has failed or does not answer */
};

/* How a solve ended. */
enum {
  CHROMAFLOW_CONVERGED = 0,
  CHROMAFLOW_ITERATION_LIMIT = 1, /* all iterations done; of a fixed number of sweeps the normal end */
  CHROMAFLOW_STAGNATED = 2,
  CHROMAFLOW_DIVERGED = 3,
  CHROMAFLOW_BREAKDOWN = 4,
  CHROMAFLOW_STOPPED = 5 /* by the monitor */
};

enum { CHROMAFLOW_HOST = 0, CHROMAFLOW_CUDA = 1 }; /* where an array lies */
enum {
  CHROMAFLOW_I32 = 1,
  CHROMAFLOW_I64 = 2,
  CHROMAFLOW_U32 = 3,
  CHROMAFLOW_U64 = 4,
  CHROMAFLOW_F32 = 5,
  CHROMAFLOW_F64 = 6
};
/* Entry (r, c) of a block at c * nb + r (Fortran), or at r * nb + c (C). */
enum { CHROMAFLOW_COLUMN_MAJOR = 0, CHROMAFLOW_ROW_MAJOR = 1 };
enum { CHROMAFLOW_LOG_ERROR = 0, CHROMAFLOW_LOG_WARNING = 1, CHROMAFLOW_LOG_INFO = 2 };

/* An array to read, and one to write: address, number of entries, type, place. */
typedef struct {
  const void *data;
  int64_t len;
  int32_t type, place;
} chromaflow_array;
typedef struct {
  void *data;
  int64_t len;
  int32_t type, place;
} chromaflow_array_mut;

typedef struct chromaflow_context chromaflow_context; /* threads or a GPU, shared by solvers */
typedef struct chromaflow_comm chromaflow_comm;       /* ranks of MPI */
typedef struct chromaflow_solver chromaflow_solver;   /* a pattern, its values, a method */
typedef struct chromaflow_lines chromaflow_lines;     /* a batch of block tridiagonal systems */

/* ---- errors, versions, options ---- */

/* Copies the text of this thread's last error into buf (cut to len, NUL at the end) and returns its length without the NUL.
 * buf may be NULL to ask for the length. Empty where nothing has failed yet; successes leave it. */
size_t chromaflow_error_text(char *buf, size_t len);
/* Block row and column that it is about, as the caller's index arrays number them; -1 where it is about none. */
void chromaflow_error_place(int64_t *row, int64_t *col);
void chromaflow_version(int32_t *api, int32_t *major, int32_t *minor, int32_t *patch);
/* Every option of contexts, solvers and lines with its values, default and help, as JSON. It lives as long as the library. */
const char *chromaflow_options(void);

/* ---- contexts ---- */

/* options, as everywhere: "key=value, key=value", or NULL.
 *   threads=N   the caller's and N - 1 more (default 1); of a GPU's context those that renumber and color
 *   pin=yes     ties the others to a core each; the caller's thread is never touched
 *   device=N    solvers work on this CUDA device
 * stream: a cudaStream_t (CUstream) of that device's primary context that outlives the context, or NULL for one of its own.
 * After a fork the child has to make its own contexts and solvers: calls on those of the parent are refused. */
chromaflow_status chromaflow_context_create(const char *options, void *stream, chromaflow_context **context);
/* Calls log with messages up to this level, on the thread that makes a call; NULL for silence, which is the default. */
typedef void (*chromaflow_log)(void *user, int32_t level, const char *text);
chromaflow_status chromaflow_context_log(chromaflow_context *context, int32_t level, chromaflow_log log, void *user);
void chromaflow_context_destroy(chromaflow_context *context); /* NULL is fine */

/* ---- communicators ---- */

/* The ranks of a program that has called MPI_Init: of MPI_COMM_WORLD, or of the communicator with Fortran's number *mpi, a 32-bit integer
 * in every MPI:  int32_t mpi = MPI_Comm_c2f(comm).  No MPI is linked: that which the program has loaded is used (Open MPI, MPICH and its
 * relatives, the standard interface of MPI 5; CHROMAFLOW_MPI names another library). Messages pass by a duplicate of the communicator, so
 * that create and the end of the last handle that uses it, of this or of a solver, are collective and come before MPI_Finalize.
 * Threads: calls on the solvers of one communicator come one at a time; make another one for calls at once, where MPI allows threads.
 *   patience=S  a rank that does not answer for so many seconds is an error; without it ranks wait for ever, as MPI's do */
chromaflow_status chromaflow_comm_create(const int32_t *mpi, const char *options, chromaflow_comm **comm);
chromaflow_status chromaflow_comm_place(chromaflow_comm *comm, int32_t *rank, int32_t *size);
void chromaflow_comm_destroy(chromaflow_comm *comm); /* NULL is fine; solvers keep what they need */

/* ---- solvers ---- */

/* A block-sparse matrix in rows. Columns of a row come in any order. Either every row has its diagonal block in col_idx, or
 * none has and the diagonal blocks come in an array of their own. Index arrays: I32, I64, U32 or U64, on the host. */
typedef struct {
  size_t size;  /* sizeof(chromaflow_pattern) */
  int64_t rows; /* block rows */
  int32_t nb;   /* block size, 1 to 128 */
  int32_t base; /* indices count from 0 or 1; so do rows in messages */
  chromaflow_array row_ptr, col_idx; /* [rows + 1], [nnzb] */
  int64_t ghosts; /* columns rows .. rows + ghosts - 1 (from 0) are rows of other ranks: chromaflow_solver_distribute */
} chromaflow_pattern;

/* The expensive part, once a pattern: renumbering, coloring, memory. chromaflow_options() lists the options; those in the
 * environment variable CHROMAFLOW_OPTIONS come last and win. */
chromaflow_status chromaflow_solver_create(chromaflow_context *context, const chromaflow_pattern *pattern, const char *options,
                                           chromaflow_solver **solver);
/* The rows of one rank of a matrix that the ranks of comm have together, as PETSc and hypre have them: rows first_row to first_row + rows - 1,
 * ranges one after the other by rank (a rank may have none), col_idx in global numbers; all count from the base. row_ptr and col_idx may
 * differ in type. Ghosts and exchanges are found here; pattern.ghosts is 0. All other calls are those of one rank, with vectors and values
 * of own rows: all ranks make them together, with the same options. Errors found here, by set_values and in vectors are the same on all
 * ranks and name rank and global rows and columns; arrays of a wrong type or length given to another call by one rank are told there alone.
 *
 * Multicolor and Jacobi sweeps exchange after every color and are those of one rank with the same colors, which all ranks find together;
 * block ILU is of own rows (PETSc's bjacobi); gauss_seidel and ssor go through own rows with others' values of the sweep before, and not on
 * GPUs. Rows and columns must fit 32 bits without a sign. */
chromaflow_status chromaflow_solver_create_over_ranks(chromaflow_context *context, chromaflow_comm *comm,
                                                      const chromaflow_pattern *pattern, int64_t first_row,
                                                      const char *options, chromaflow_solver **solver);
void chromaflow_solver_destroy(chromaflow_solver *solver); /* NULL is fine; no call may be under way */
/* Changes an option from the next call on. Method, tolerance, iterations, sweeps and the like; what the solver was set up with
 * (preconditioner, policy, diagonal, order, coloring) stays. */
chromaflow_status chromaflow_solver_option(chromaflow_solver *solver, const char *key, const char *value);

typedef struct {
  size_t size;         /* sizeof(chromaflow_set_report) */
  int64_t pivoted;     /* diagonal blocks that needed pivoting: often the sign of a wrong Jacobian */
  int64_t pivoted_row; /* the first of them, or -1 */
  int64_t underflowed; /* with policy=dsh: nonzero values that became zero */
  double seconds;
} chromaflow_set_report;
/* New values, and the factors that the preconditioner needs: some passes over the values, a few applications' worth.
 * values: [nnzb, nb, nb] in the order of the pattern. diagonal: [rows, nb, nb] where the pattern has none, else len 0. F64, or
 * F32 from the host. When it fails, there are no values. report may be NULL. */
chromaflow_status chromaflow_solver_set_values(chromaflow_solver *solver, chromaflow_array values, chromaflow_array diagonal,
                                               int32_t layout, chromaflow_set_report *report);

typedef struct {
  size_t size;           /* sizeof(chromaflow_report) */
  int32_t outcome;       /* CHROMAFLOW_CONVERGED, ... */
  int64_t iterations;    /* applications of the preconditioner */
  double residual;       /* ||b - A x|| / ||b||, computed from x in f64 */
  const double *history; /* the same before the first iteration and after each; lives until the next call on the solver */
  int64_t history_len;
  double seconds;
} chromaflow_report;
/* x = A^-1 b from the first guess in x, vectors [rows, nb]; on a device x is there in the order of the context's stream. With
 * method=richardson, tolerance=0, sweeps=N: N sweeps. report may be NULL. */
chromaflow_status chromaflow_solver_solve(chromaflow_solver *solver, chromaflow_array b, chromaflow_array_mut x,
                                          chromaflow_report *report);
/* The same for several right-hand sides [count, rows, nb], each to the last bit as by itself. GMRES on a host, without callbacks and
 * ghosts, solves eight at once and reads matrix and factors once for all of them; seconds are then an equal part of the call's.
 * reports: [count], or NULL; their histories live until the next call on the solver. */
chromaflow_status chromaflow_solver_solve_many(chromaflow_solver *solver, int64_t count, chromaflow_array b, chromaflow_array_mut x,
                                               chromaflow_report *reports);
/* z = M r, the preconditioner alone, and y = A x; nothing else: no residual, no look at the numbers. On arrays of a device the
 * work is queued on the context's stream and not waited for. */
chromaflow_status chromaflow_solver_apply(chromaflow_solver *solver, chromaflow_array r, chromaflow_array_mut z);
chromaflow_status chromaflow_solver_multiply(chromaflow_solver *solver, chromaflow_array x, chromaflow_array_mut y);

/* The order inside: new_of_old [rows]; color_starts [colors + 1], first row of each color. NULL asks for the number of colors
 * alone. Counted as the pattern counts; over ranks in the order of all rows. */
chromaflow_status chromaflow_solver_order(chromaflow_solver *solver, int64_t *new_of_old, int64_t *color_starts,
                                          int64_t *colors);

/* y = A x by the caller: solves iterate with it, pattern and values only precondition. Called on the thread that solves, with
 * F64 arrays of the host [rows, nb]; returns 0, or the solve ends with CHROMAFLOW_CALLBACK. NULL goes back to the matrix. It
 * must not call back into the same solver, which refuses. Not for a GPU's context. */
typedef int32_t (*chromaflow_operator)(void *user, chromaflow_array x, chromaflow_array_mut y);
chromaflow_status chromaflow_solver_operator(chromaflow_solver *solver, chromaflow_operator apply, void *user);

/* Called after each iteration of a solve but the one that ends it, on the thread that solves, with its number and relative
 * residual; returns 0, or the solve ends there with the outcome CHROMAFLOW_STOPPED, x as far as it has come. NULL for none. Among
 * ranks of chromaflow_solver_distribute all must return the same; over those of a chromaflow_comm one that does not return 0 ends it for
 * all (others then report CHROMAFLOW_ITERATION_LIMIT). Not for a GPU's context. */
typedef int32_t (*chromaflow_monitor)(void *user, int64_t iteration, double residual);
chromaflow_status chromaflow_solver_monitor(chromaflow_solver *solver, chromaflow_monitor monitor, void *user);

/* Makes the solver the rows of one rank of a matrix on several: products, residuals and norms are those of all, factors those of
 * own rows, sweeps take the ghosts' values of the sweep before. Vectors of solve, apply and multiply have own rows alone.
 *
 * exchange: x is [rows + ghosts, nb], F64, on the host, own rows first. phase 0: begin to send own rows and to receive ghosts; own rows
 * stay as they are until phase 1: wait until all ghosts are there. It may be done all in one phase.
 * reduce: each of n values becomes its sum over all ranks, the same bits on every rank (MPI_Allreduce).
 * Both return 0, or the call ends with CHROMAFLOW_CALLBACK; they go on being called until it has ended everywhere.
 *
 * From then on all ranks call solve and multiply together, and apply where the preconditioner is a relaxation with sweeps > 1, with
 * the same options; create, set_values and the rest are calls of one rank. A rank that is refused before its first exchange (a
 * wrong length) leaves the others waiting: end them as your program ends errors. Not for a GPU's context.
 *
 * With global column numbers and MPI, chromaflow_solver_create_over_ranks needs none of this and exchanges after every color. */
typedef int32_t (*chromaflow_exchange)(void *user, int32_t phase, chromaflow_array_mut x, int32_t nb);
typedef int32_t (*chromaflow_reduce)(void *user, double *values, int32_t n);
chromaflow_status chromaflow_solver_distribute(chromaflow_solver *solver, chromaflow_exchange exchange, chromaflow_reduce reduce,
                                               void *user);

/* ---- lines ---- */

/* A batch of systems A_i x_{i-1} + B_i x_i + C_i x_{i+1} = f_i of blocks of this rank. Entry e of row i of line s lies at
 * s * line + i * row + e * entry; of a block e = c * rank + r, of a vector e = r. So Fortran's a(lines, rows, rank, rank) and
 * f(lines, rows, rank) have line = 1, row = lines, entry = lines * rows; arrays may be larger than the batch. All three 0:
 * [lines][rows][rank * rank] and [lines][rows][rank], one after the other. */
typedef struct {
  size_t size; /* sizeof(chromaflow_shape) */
  int64_t lines, rows;
  int32_t rank, periodic; /* 1 to 64; 0 or 1 */
  int64_t line, row, entry;
} chromaflow_shape;

/* options: precision=double (F64 arrays), single or mixed (F32 arrays; mixed computes in f64), pivoting=none or partial. */
chromaflow_status chromaflow_lines_create(chromaflow_context *context, const chromaflow_shape *shape, const char *options,
                                          chromaflow_lines **lines);
/* Factors that are kept, and solves with them; f holds right-hand sides, then solutions. */
chromaflow_status chromaflow_lines_factor(chromaflow_lines *lines, chromaflow_array lower, chromaflow_array diag,
                                          chromaflow_array upper);
chromaflow_status chromaflow_lines_solve(chromaflow_lines *lines, chromaflow_array_mut f);
/* Both at once for one right-hand side, which is quicker than one after the other. */
chromaflow_status chromaflow_lines_solve_once(chromaflow_lines *lines, chromaflow_array lower, chromaflow_array diag,
                                              chromaflow_array upper, chromaflow_array_mut f);
void chromaflow_lines_destroy(chromaflow_lines *lines); /* NULL is fine; no call may be under way */

/* ---- arrays of the host in one word ---- */

static inline chromaflow_array chromaflow_in(const void *data, int64_t len, int32_t type) {
  chromaflow_array a;
  a.data = data;
  a.len = len;
  a.type = type;
  a.place = CHROMAFLOW_HOST;
  return a;
}
static inline chromaflow_array chromaflow_none(void) { return chromaflow_in(NULL, 0, CHROMAFLOW_F64); }
static inline chromaflow_array chromaflow_in_i32(const int32_t *v, int64_t len) { return chromaflow_in(v, len, CHROMAFLOW_I32); }
static inline chromaflow_array chromaflow_in_i64(const int64_t *v, int64_t len) { return chromaflow_in(v, len, CHROMAFLOW_I64); }
static inline chromaflow_array chromaflow_in_f32(const float *v, int64_t len) { return chromaflow_in(v, len, CHROMAFLOW_F32); }
static inline chromaflow_array chromaflow_in_f64(const double *v, int64_t len) { return chromaflow_in(v, len, CHROMAFLOW_F64); }
static inline chromaflow_array_mut chromaflow_out(void *data, int64_t len, int32_t type) {
  chromaflow_array_mut a;
  a.data = data;
  a.len = len;
  a.type = type;
  a.place = CHROMAFLOW_HOST;
  return a;
}
static inline chromaflow_array_mut chromaflow_out_f32(float *v, int64_t len) { return chromaflow_out(v, len, CHROMAFLOW_F32); }
static inline chromaflow_array_mut chromaflow_out_f64(double *v, int64_t len) { return chromaflow_out(v, len, CHROMAFLOW_F64); }

#ifdef __cplusplus
}
#endif
#endif
