/* -pc_type chromaflow: Chromaflow's preconditioners in any program that uses PETSc, without a new line in it.
 *
 *   program -dll_append libpc_chromaflow.so -pc_type chromaflow -pc_chromaflow "preconditioner=ilu0, policy=ds"
 *
 * -pc_chromaflow takes every option of chromaflow.h, of contexts and solvers, and -pc_chromaflow_KEY VALUE one of them; unless they
 * say otherwise it is block ILU(0), whose factors are all that is kept: PETSc has the matrix. Matrices: SeqBAIJ as it lies, SeqAIJ with its block size (copied as SeqBAIJ where that is not 1). On several
 * ranks MPIBAIJ and MPIAIJ by the rows and columns of each rank, block Jacobi; or -pc_type asm -sub_pc_type chromaflow.
 *
 * PETSc finds the register function by the name of the library: libpc_chromaflow.so, PetscDLLibraryRegister_pc_chromaflow. */
#include <chromaflow.h>
#include <petscksp.h>
#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
  #error "Chromaflow solves real systems in double precision: use such a PETSc"
#endif

typedef struct {
  chromaflow_context *context;
  chromaflow_solver *solver;
  Mat blocks;             /* the matrix as SeqBAIJ, where it comes as SeqAIJ with a block size */
  PetscObjectState state; /* of the pattern that the solver has */
  PetscInt unknowns;
  char options[2][1024]; /* of the context, of the solver */
} Chromaflow;

#define CallChromaflow(call) \
  do { \
    const chromaflow_status status_ = call; \
    char text_[1024]; \
    if (status_ != CHROMAFLOW_OK) { \
      chromaflow_error_text(text_, sizeof text_); \
      SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Chromaflow, status %d: %s", (int)status_, text_); \
    } \
  } while (0)

static PetscErrorCode Destroy(void *held) {
  Chromaflow *own = held;
  PetscFunctionBegin;
  chromaflow_solver_destroy(own->solver);
  chromaflow_context_destroy(own->context);
  PetscCall(MatDestroy(&own->blocks));
  PetscCall(PetscFree(own));
  PetscFunctionReturn(0);
}

static PetscErrorCode Own(PC pc, Chromaflow **own) {
  PetscContainer container;
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)pc, "chromaflow", (PetscObject *)&container));
  PetscCheck(container, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "this PC is not of type chromaflow");
  PetscCall(PetscContainerGetPointer(container, (void **)own));
  PetscFunctionReturn(0);
}

/* Collects the options: whether a key is a context's or a solver's says the list that the library has of them. */
static PetscErrorCode Options(PC pc, Chromaflow *own) {
  PetscOptions base;
  const char *prefix, *at = chromaflow_options(), *solvers, *end;
  char given[1024] = "", *pair = given;
  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptions((PetscObject)pc, &base));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscOptionsGetString(base, prefix, "-pc_chromaflow", given, sizeof given, NULL));
  PetscCall(PetscStrstr(at, "\"solver\":", (char **)&solvers));
  PetscCall(PetscStrstr(at, "\"lines\":", (char **)&end));
  own->options[0][0] = '\0';
  PetscCall(PetscStrncpy(own->options[1], "preconditioner=ilu0,keep_matrix=no,", sizeof own->options[1])); /* of a key twice the last counts */
  while (pair) { /* the pairs of the text, those with the keys of contexts apart */
    char key[64] = "\"", *next, *equals, *found = NULL;
    PetscCall(PetscStrchr(pair, ',', &next));
    if (next) *next++ = '\0';
    while (*pair == ' ') pair++;
    PetscCall(PetscStrchr(pair, '=', &equals));
    if (equals && equals - pair < 60) {
      for (char *to = key + 1, *from = pair; from < equals && *from != ' '; from++) *to++ = *from, to[0] = '"', to[1] = '\0';
      PetscCall(PetscStrstr(at, key, &found));
    }
    char *to = own->options[found && found < solvers ? 0 : 1];
    PetscCall(PetscStrlcat(to, pair, sizeof own->options[0]));
    PetscCall(PetscStrlcat(to, ",", sizeof own->options[0]));
    pair = next;
  }
  for (char *name; PetscStrstr(at, "\"name\": \"", &name) == 0 && name && name < end; at = name + 1) { /* keys by themselves */
    char key[96] = "-pc_chromaflow_", value[128];
    PetscBool set;
    size_t len = 15;
    for (const char *c = name + 9; *c != '"' && len < sizeof key - 1; c++) key[len++] = *c;
    key[len] = '\0';
    PetscCall(PetscOptionsGetString(base, prefix, key, value, sizeof value, &set));
    if (!set) continue;
    char *to = own->options[name < solvers ? 0 : 1];
    PetscCall(PetscStrlcat(to, key + 15, sizeof own->options[0]));
    PetscCall(PetscStrlcat(to, "=", sizeof own->options[0]));
    PetscCall(PetscStrlcat(to, value, sizeof own->options[0]));
    PetscCall(PetscStrlcat(to, ",", sizeof own->options[0]));
  }
  PetscFunctionReturn(0);
}

/* A solver for the pattern of this matrix. */
static PetscErrorCode NewSolver(PC pc, Chromaflow *own, Mat matrix, PetscInt nb) {
  const PetscInt *row_ptr, *col_idx;
  PetscInt rows;
  PetscBool done;
  const int32_t type = sizeof(PetscInt) == 8 ? CHROMAFLOW_I64 : CHROMAFLOW_I32;
  PetscFunctionBegin;
  chromaflow_solver_destroy(own->solver);
  own->solver = NULL;
  if (!own->context) {
    PetscCall(Options(pc, own));
    CallChromaflow(chromaflow_context_create(own->options[0], NULL, &own->context));
  }
  PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_TRUE, &rows, &row_ptr, &col_idx, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix gives no rows: use SeqBAIJ or SeqAIJ");
  chromaflow_pattern pattern = {sizeof pattern, rows, (int32_t)nb, 0, chromaflow_in(row_ptr, rows + 1, type),
                                chromaflow_in(col_idx, row_ptr[rows], type), 0};
  const chromaflow_status status = chromaflow_solver_create(own->context, &pattern, own->options[1], &own->solver);
  own->unknowns = rows * nb;
  PetscCall(MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_TRUE, &rows, &row_ptr, &col_idx, &done));
  CallChromaflow(status);
  PetscFunctionReturn(0);
}

static PetscErrorCode SetUp(PC pc) {
  Chromaflow *own;
  Mat matrix;
  PetscInt nb;
  PetscObjectState state;
  PetscBool parted, baij, aij;
  PetscFunctionBegin;
  PetscCall(Own(pc, &own));
  PetscCall(PCGetOperators(pc, NULL, &matrix));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)matrix, &parted, MATMPIBAIJ, MATMPIAIJ, ""));
  if (parted) PetscCall(MatGetDiagonalBlock(matrix, &matrix)); /* which the matrix keeps */
  PetscCall(PetscObjectTypeCompare((PetscObject)matrix, MATSEQBAIJ, &baij));
  PetscCall(PetscObjectTypeCompare((PetscObject)matrix, MATSEQAIJ, &aij));
  PetscCheck(baij || aij, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "Chromaflow takes BAIJ and AIJ: convert the matrix, or use another preconditioner");
  PetscCall(MatGetBlockSize(matrix, &nb));
  PetscCall(MatGetNonzeroState(matrix, &state));
  const PetscBool changed = (PetscBool)(!own->solver || state != own->state);
  if (aij && nb > 1) {
    if (changed) PetscCall(MatDestroy(&own->blocks));
    PetscCall(MatConvert(matrix, MATSEQBAIJ, own->blocks ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &own->blocks));
    matrix = own->blocks;
    baij = PETSC_TRUE;
  }
  if (changed) PetscCall(NewSolver(pc, own, matrix, nb));
  own->state = state;

  const PetscInt *row_ptr, *col_idx;
  PetscInt rows;
  PetscBool done;
  PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_TRUE, &rows, &row_ptr, &col_idx, &done));
  const int64_t count = (int64_t)row_ptr[rows] * nb * nb;
  PetscCall(MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_TRUE, &rows, &row_ptr, &col_idx, &done));
  PetscScalar *values; /* blocks by columns, as BAIJ has them */
  PetscCall(baij ? MatSeqBAIJGetArray(matrix, &values) : MatSeqAIJGetArray(matrix, &values));
  const chromaflow_status status = chromaflow_solver_set_values(own->solver, chromaflow_in_f64(values, count),
                                                                chromaflow_none(), CHROMAFLOW_COLUMN_MAJOR, NULL);
  PetscCall(baij ? MatSeqBAIJRestoreArray(matrix, &values) : MatSeqAIJRestoreArray(matrix, &values));
  CallChromaflow(status);
  PetscFunctionReturn(0);
}

static PetscErrorCode Apply(PC pc, Vec r, Vec z) {
  Chromaflow *own;
  const PetscScalar *from;
  PetscScalar *to;
  PetscFunctionBegin;
  PetscCall(Own(pc, &own));
  PetscCall(VecGetArrayRead(r, &from));
  PetscCall(VecGetArrayWrite(z, &to));
  const chromaflow_status status = chromaflow_solver_apply(own->solver, chromaflow_in_f64(from, own->unknowns),
                                                           chromaflow_out_f64(to, own->unknowns));
  PetscCall(VecRestoreArrayWrite(z, &to));
  PetscCall(VecRestoreArrayRead(r, &from));
  CallChromaflow(status);
  PetscFunctionReturn(0);
}

static PetscErrorCode View(PC pc, PetscViewer viewer) {
  Chromaflow *own;
  PetscFunctionBegin;
  PetscCall(Own(pc, &own));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  options: %s %s\n", own->options[0], own->options[1]));
  PetscFunctionReturn(0);
}

static PetscErrorCode Create(PC pc) {
  Chromaflow *own;
  PetscContainer container;
  PetscFunctionBegin;
  PetscCall(PetscNew(&own));
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscContainerSetPointer(container, own));
  PetscCall(PetscContainerSetUserDestroy(container, Destroy));
  PetscCall(PetscObjectCompose((PetscObject)pc, "chromaflow", (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container)); /* the PC holds it now */
  PetscCall(PCSetType(pc, PCSHELL));            /* which needs none of PETSc's private headers */
  PetscCall(PCShellSetSetUp(pc, SetUp));
  PetscCall(PCShellSetApply(pc, Apply));
  PetscCall(PCShellSetView(pc, View));
  PetscCall(PetscObjectChangeTypeName((PetscObject)pc, "chromaflow"));
  PetscFunctionReturn(0);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_pc_chromaflow(void) {
  PetscFunctionBegin;
  PetscCall(PCRegister("chromaflow", Create));
  PetscFunctionReturn(0);
}
