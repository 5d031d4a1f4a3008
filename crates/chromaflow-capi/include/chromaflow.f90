! Chromaflow for Fortran: the handles of chromaflow.h as types that clean up, arrays as they are, indices from 1.
!
! chromaflow.h says what each procedure does. Every procedure takes stat and errmsg as the language's own statements do;
! without stat what fails is an error stop with its text. Handles are finalized where their scope ends, which the main
! program's does not: declare them in a block or a procedure. They must not be assigned to one another.
module chromaflow
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: CHROMAFLOW_OK = 0, CHROMAFLOW_BAD_ARGUMENT = 1, CHROMAFLOW_BAD_PATTERN = 2, &
    CHROMAFLOW_NOT_FINITE = 3, CHROMAFLOW_SINGULAR = 4, CHROMAFLOW_NO_VALUES = 5, CHROMAFLOW_UNSUPPORTED = 6, &
    CHROMAFLOW_NO_MEMORY = 7, CHROMAFLOW_DEVICE = 8, CHROMAFLOW_CALLBACK = 9, CHROMAFLOW_BUG = 10, &
    CHROMAFLOW_MPI = 11
  integer, parameter, public :: CHROMAFLOW_CONVERGED = 0, CHROMAFLOW_ITERATION_LIMIT = 1, &
    CHROMAFLOW_STAGNATED = 2, CHROMAFLOW_DIVERGED = 3, CHROMAFLOW_BREAKDOWN = 4, &
    CHROMAFLOW_STOPPED = 5

  ! Threads or a GPU.
  type, public :: chromaflow_context
    type(c_ptr) :: handle = c_null_ptr       ! for what chromaflow.h has and this module has not
  contains
    procedure :: create => context_create
    ! (level, log): a bind(c) procedure for messages up to this level; without it silence
    procedure :: log => context_log
    procedure :: destroy => context_destroy
    final :: context_final
  end type

  ! The ranks of a program that has called MPI_Init. Finalize, or destroy, it and its solvers before MPI_Finalize.
  type, public :: chromaflow_comm
    type(c_ptr) :: handle = c_null_ptr
  contains
    ! (mpi, options): of the communicator mpi, of mpi_f08 its mpi%mpi_val; without it those of MPI_COMM_WORLD
    procedure :: create => comm_create
    procedure :: destroy => comm_destroy
    final :: comm_final
  end type

  ! How a solve ended.
  type, public :: chromaflow_report
    integer :: outcome = -1
    integer(c_int64_t) :: iterations = 0
    real(c_double) :: residual = 0, seconds = 0
    real(c_double), allocatable :: history(:)
  end type

  ! y = A x by you: extend it, and give a variable of yours to chromaflow_solver%matrix_free. It, and those of the two types
  ! below, must live as long as the solver calls them. stat is 0 when they are called; another value ends the call.
  type, abstract, public :: chromaflow_operator
  contains
    procedure(product), deferred :: multiply
  end type

  ! Other ranks, over MPI or whatever you have: for chromaflow_solver%distribute.
  type, abstract, public :: chromaflow_ranks
  contains
    procedure(exchange), deferred :: exchange
    procedure(reduce), deferred :: reduce
  end type

  ! Told after each iteration, for chromaflow_solver%monitor; another stat than 0 ends the solve: outcome CHROMAFLOW_STOPPED.
  type, abstract, public :: chromaflow_monitor
  contains
    procedure(tell), deferred :: tell
  end type

  abstract interface
    subroutine product(self, x, y, stat)
      import
      class(chromaflow_operator), intent(inout) :: self
      real(c_double), intent(in) :: x(:)
      real(c_double), intent(inout) :: y(:)
      integer, intent(inout) :: stat
    end subroutine
    ! Fills the ghosts of x(nb, rows + ghosts), own rows first: phase 0 begins, 1 waits for them.
    subroutine exchange(self, phase, x, stat)
      import
      class(chromaflow_ranks), intent(inout) :: self
      integer, intent(in) :: phase
      real(c_double), intent(inout) :: x(:, :)
      integer, intent(inout) :: stat
    end subroutine
    ! Each value becomes its sum over all ranks, the same bits on every one.
    subroutine reduce(self, values, stat)
      import
      class(chromaflow_ranks), intent(inout) :: self
      real(c_double), intent(inout) :: values(:)
      integer, intent(inout) :: stat
    end subroutine
    subroutine tell(self, iteration, residual, stat)
      import
      class(chromaflow_monitor), intent(inout) :: self
      integer(c_int64_t), intent(in) :: iteration
      real(c_double), intent(in) :: residual
      integer, intent(inout) :: stat
    end subroutine
  end interface

  ! What the library has the address of.
  type :: callers
    class(chromaflow_operator), pointer :: operator => null()
    class(chromaflow_ranks), pointer :: ranks => null()
    class(chromaflow_monitor), pointer :: monitor => null()
  end type

  ! A block-sparse matrix and a method to solve with it. Vectors are (nb, rows) or (nb * rows).
  type, public :: chromaflow_solver
    type(c_ptr) :: handle = c_null_ptr
    type(callers), pointer, private :: callers => null()
  contains
    procedure, private :: create_i32, create_i64, over_ranks_i32, over_ranks_i64, values_f64, values_f32, solve_1, &
      solve_2, apply_1, apply_2, &
      multiply_1, multiply_2
    ! (context, nb, row_ptr(rows + 1), col_idx(nnzb), options, ghosts), integers of 4 or 8 bytes that count from 1;
    ! columns rows + 1 to rows + ghosts are rows of other ranks; or
    ! (context, comm, first_row, nb, row_ptr(rows + 1), col_idx(nnzb), options): rows first_row to first_row + rows - 1 of a
    ! matrix that all ranks have together, columns in global numbers, first_row of 8 bytes
    generic :: create => create_i32, create_i64, over_ranks_i32, over_ranks_i64
    procedure :: option => solver_option
    ! (values(nb, nb, nnzb), diagonal(nb, nb, rows)), the second where the pattern has no diagonal blocks
    generic :: set_values => values_f64, values_f32
    generic :: solve => solve_1, solve_2
    ! (b(nb, rows, count), x(nb, rows, count), reports(count))
    procedure :: solve_many => solver_solve_many
    procedure :: matrix_free => solver_matrix_free
    procedure :: distribute => solver_distribute
    procedure :: monitor => solver_monitor
    generic :: apply => apply_1, apply_2
    generic :: multiply => multiply_1, multiply_2
    procedure :: destroy => solver_destroy
    final :: solver_final
  end type

  ! A batch of block tridiagonal systems: blocks(lines, rows, rank, rank) and f(lines, rows, rank).
  type, public :: chromaflow_lines
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => lines_create
    procedure :: factor => lines_factor
    procedure :: solve => lines_solve
    procedure :: solve_once => lines_solve_once
    procedure :: destroy => lines_destroy
    final :: lines_final
  end type

  enum, bind(c)
    enumerator :: I32 = 1, I64, U32, U64, F32, F64
  end enum

  type, bind(c) :: array
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: len = 0
    integer(c_int32_t) :: type = F64, place = 0
  end type

  type, bind(c) :: pattern
    integer(c_size_t) :: size
    integer(c_int64_t) :: rows
    integer(c_int32_t) :: nb, base
    type(array) :: row_ptr, col_idx
    integer(c_int64_t) :: ghosts
  end type

  type, bind(c) :: report
    integer(c_size_t) :: size
    integer(c_int32_t) :: outcome
    integer(c_int64_t) :: iterations
    real(c_double) :: residual
    type(c_ptr) :: history
    integer(c_int64_t) :: history_len
    real(c_double) :: seconds
  end type

  type, bind(c) :: shape_of_lines
    integer(c_size_t) :: size
    integer(c_int64_t) :: lines, rows
    integer(c_int32_t) :: rank, periodic
    integer(c_int64_t) :: line, row, entry
  end type

  interface
    function c_error_text(buf, len) bind(c, name='chromaflow_error_text') result(n)
      import
      character(kind=c_char), intent(out) :: buf(*)
      integer(c_size_t), value :: len
      integer(c_size_t) :: n
    end function
    function c_context_create(options, stream, handle) bind(c, name='chromaflow_context_create') result(status)
      import
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), value :: stream
      type(c_ptr) :: handle
      integer(c_int32_t) :: status
    end function
    function c_context_log(handle, level, log, user) bind(c, name='chromaflow_context_log') result(status)
      import
      type(c_ptr), value :: handle, user
      integer(c_int32_t), value :: level
      type(c_funptr), value :: log
      integer(c_int32_t) :: status
    end function
    subroutine c_context_destroy(handle) bind(c, name='chromaflow_context_destroy')
      import
      type(c_ptr), value :: handle
    end subroutine
    function c_comm_create(mpi, options, handle) bind(c, name='chromaflow_comm_create') result(status)
      import
      integer(c_int32_t), intent(in), optional :: mpi
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr) :: handle
      integer(c_int32_t) :: status
    end function
    subroutine c_comm_destroy(handle) bind(c, name='chromaflow_comm_destroy')
      import
      type(c_ptr), value :: handle
    end subroutine
    function c_over_ranks(context, comm, p, first_row, options, handle) &
      bind(c, name='chromaflow_solver_create_over_ranks') result(status)
      import
      type(c_ptr), value :: context, comm
      type(pattern), intent(in) :: p
      integer(c_int64_t), value :: first_row
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr) :: handle
      integer(c_int32_t) :: status
    end function
    function c_solver_create(context, p, options, handle) bind(c, name='chromaflow_solver_create') result(status)
      import
      type(c_ptr), value :: context
      type(pattern), intent(in) :: p
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr) :: handle
      integer(c_int32_t) :: status
    end function
    subroutine c_solver_destroy(handle) bind(c, name='chromaflow_solver_destroy')
      import
      type(c_ptr), value :: handle
    end subroutine
    function c_solver_option(handle, key, val) bind(c, name='chromaflow_solver_option') result(status)
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: key(*), val(*)
      integer(c_int32_t) :: status
    end function
    function c_set_values(handle, values, diagonal, layout, found) bind(c, name='chromaflow_solver_set_values') &
      result(status)
      import
      type(c_ptr), value :: handle, found
      type(array), value :: values, diagonal
      integer(c_int32_t), value :: layout
      integer(c_int32_t) :: status
    end function
    function c_solve(handle, b, x, found) bind(c, name='chromaflow_solver_solve') result(status)
      import
      type(c_ptr), value :: handle
      type(array), value :: b, x
      type(report), intent(inout) :: found
      integer(c_int32_t) :: status
    end function
    function c_solve_many(handle, count, b, x, found) bind(c, name='chromaflow_solver_solve_many') result(status)
      import
      type(c_ptr), value :: handle
      integer(c_int64_t), value :: count
      type(array), value :: b, x
      type(report), intent(inout) :: found(*)
      integer(c_int32_t) :: status
    end function
    function c_operator(handle, call, user) bind(c, name='chromaflow_solver_operator') result(status)
      import
      type(c_ptr), value :: handle, user
      type(c_funptr), value :: call
      integer(c_int32_t) :: status
    end function
    function c_distribute(handle, swap, add, user) bind(c, name='chromaflow_solver_distribute') result(status)
      import
      type(c_ptr), value :: handle, user
      type(c_funptr), value :: swap, add
      integer(c_int32_t) :: status
    end function
    function c_monitor(handle, call, user) bind(c, name='chromaflow_solver_monitor') result(status)
      import
      type(c_ptr), value :: handle, user
      type(c_funptr), value :: call
      integer(c_int32_t) :: status
    end function
    function c_apply(handle, r, z) bind(c, name='chromaflow_solver_apply') result(status)
      import
      type(c_ptr), value :: handle
      type(array), value :: r, z
      integer(c_int32_t) :: status
    end function
    function c_multiply(handle, x, y) bind(c, name='chromaflow_solver_multiply') result(status)
      import
      type(c_ptr), value :: handle
      type(array), value :: x, y
      integer(c_int32_t) :: status
    end function
    function c_lines_create(context, s, options, handle) bind(c, name='chromaflow_lines_create') result(status)
      import
      type(c_ptr), value :: context
      type(shape_of_lines), intent(in) :: s
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr) :: handle
      integer(c_int32_t) :: status
    end function
    function c_lines_factor(handle, a, b, c) bind(c, name='chromaflow_lines_factor') result(status)
      import
      type(c_ptr), value :: handle
      type(array), value :: a, b, c
      integer(c_int32_t) :: status
    end function
    function c_lines_solve(handle, f) bind(c, name='chromaflow_lines_solve') result(status)
      import
      type(c_ptr), value :: handle
      type(array), value :: f
      integer(c_int32_t) :: status
    end function
    function c_lines_solve_once(handle, a, b, c, f) bind(c, name='chromaflow_lines_solve_once') result(status)
      import
      type(c_ptr), value :: handle
      type(array), value :: a, b, c, f
      integer(c_int32_t) :: status
    end function
    subroutine c_lines_destroy(handle) bind(c, name='chromaflow_lines_destroy')
      import
      type(c_ptr), value :: handle
    end subroutine
  end interface

contains

  ! Hands a status on, or stops with the text of the error.
  subroutine settle(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char) :: buf(2048)
    character(2048) :: text
    integer :: n, i
    if (present(stat)) stat = status
    if (status == CHROMAFLOW_OK) return
    n = min(int(c_error_text(buf, size(buf, kind=c_size_t))), size(buf) - 1)
    text = ''
    do i = 1, n
      text(i:i) = buf(i)
    end do
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop 'chromaflow: ' // text(:n)
  end subroutine

  ! A text as C has it.
  pure function c_text(text) result(c)
    character(*), intent(in), optional :: text
    character(kind=c_char, len=:), allocatable :: c
    c = c_null_char
    if (present(text)) c = trim(text) // c_null_char
  end function

  subroutine context_create(self, options, stream, stat, errmsg)
    class(chromaflow_context), intent(inout) :: self
    character(*), intent(in), optional :: options
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: queue
    queue = c_null_ptr
    if (present(stream)) queue = stream
    call self%destroy()
    call settle(c_context_create(c_text(options), queue, self%handle), stat, errmsg)
  end subroutine

  ! listener: subroutine (user, level, text) with c_ptr, integer(c_int32_t) and c_ptr to a C text, all by value.
  subroutine context_log(self, level, listener, stat, errmsg)
    class(chromaflow_context), intent(inout) :: self
    integer, intent(in) :: level
    type(c_funptr), intent(in), optional :: listener
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_funptr) :: call
    call = c_null_funptr
    if (present(listener)) call = listener
    call settle(c_context_log(self%handle, int(level, c_int32_t), call, c_null_ptr), stat, errmsg)
  end subroutine

  subroutine context_destroy(self)
    class(chromaflow_context), intent(inout) :: self
    call c_context_destroy(self%handle)
    self%handle = c_null_ptr
  end subroutine

  subroutine context_final(self)
    type(chromaflow_context), intent(inout) :: self
    call self%destroy()
  end subroutine

  subroutine comm_create(self, mpi, options, stat, errmsg)
    class(chromaflow_comm), intent(inout) :: self
    integer(c_int32_t), intent(in), optional :: mpi
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call self%destroy()
    call settle(c_comm_create(mpi, c_text(options), self%handle), stat, errmsg)
  end subroutine

  subroutine comm_destroy(self)
    class(chromaflow_comm), intent(inout) :: self
    call c_comm_destroy(self%handle)
    self%handle = c_null_ptr
  end subroutine

  subroutine comm_final(self)
    type(chromaflow_comm), intent(inout) :: self
    call self%destroy()
  end subroutine

  subroutine over_ranks_i32(self, context, comm, first_row, nb, row_ptr, col_idx, options, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    type(chromaflow_context), intent(in) :: context
    type(chromaflow_comm), intent(in) :: comm
    integer(c_int64_t), intent(in) :: first_row
    integer, intent(in) :: nb
    integer(c_int32_t), intent(in), contiguous, target :: row_ptr(:), col_idx(:)
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call create(self, context, nb, array(c_loc(row_ptr), size(row_ptr, kind=c_int64_t), I32), &
      array(c_loc(col_idx), size(col_idx, kind=c_int64_t), I32), c_text(options), stat=stat, errmsg=errmsg, &
      comm=comm, first_row=first_row)
  end subroutine

  subroutine over_ranks_i64(self, context, comm, first_row, nb, row_ptr, col_idx, options, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    type(chromaflow_context), intent(in) :: context
    type(chromaflow_comm), intent(in) :: comm
    integer(c_int64_t), intent(in) :: first_row
    integer, intent(in) :: nb
    integer(c_int64_t), intent(in), contiguous, target :: row_ptr(:), col_idx(:)
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call create(self, context, nb, array(c_loc(row_ptr), size(row_ptr, kind=c_int64_t), I64), &
      array(c_loc(col_idx), size(col_idx, kind=c_int64_t), I64), c_text(options), stat=stat, errmsg=errmsg, &
      comm=comm, first_row=first_row)
  end subroutine

  subroutine create_i32(self, context, nb, row_ptr, col_idx, options, ghosts, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    type(chromaflow_context), intent(in) :: context
    integer, intent(in) :: nb
    integer(c_int32_t), intent(in), contiguous, target :: row_ptr(:), col_idx(:)
    character(*), intent(in), optional :: options
    integer, intent(in), optional :: ghosts
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call create(self, context, nb, array(c_loc(row_ptr), size(row_ptr, kind=c_int64_t), I32), &
      array(c_loc(col_idx), size(col_idx, kind=c_int64_t), I32), c_text(options), ghosts, stat, errmsg)
  end subroutine

  subroutine create_i64(self, context, nb, row_ptr, col_idx, options, ghosts, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    type(chromaflow_context), intent(in) :: context
    integer, intent(in) :: nb
    integer(c_int64_t), intent(in), contiguous, target :: row_ptr(:), col_idx(:)
    character(*), intent(in), optional :: options
    integer, intent(in), optional :: ghosts
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call create(self, context, nb, array(c_loc(row_ptr), size(row_ptr, kind=c_int64_t), I64), &
      array(c_loc(col_idx), size(col_idx, kind=c_int64_t), I64), c_text(options), ghosts, stat, errmsg)
  end subroutine

  subroutine create(self, context, nb, row_ptr, col_idx, options, ghosts, stat, errmsg, comm, first_row)
    class(chromaflow_solver), intent(inout) :: self
    type(chromaflow_context), intent(in) :: context
    integer, intent(in) :: nb
    type(array), intent(in) :: row_ptr, col_idx
    character(kind=c_char, len=*), intent(in) :: options
    integer, intent(in), optional :: ghosts
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(chromaflow_comm), intent(in), optional :: comm
    integer(c_int64_t), intent(in), optional :: first_row
    type(pattern) :: p
    p = pattern(c_sizeof(p), row_ptr%len - 1, int(nb, c_int32_t), 1, row_ptr, col_idx, 0)
    if (present(ghosts)) p%ghosts = ghosts
    call self%destroy()
    allocate (self%callers)
    if (present(comm)) then
      call settle(c_over_ranks(context%handle, comm%handle, p, first_row, options, self%handle), stat, errmsg)
    else
      call settle(c_solver_create(context%handle, p, options, self%handle), stat, errmsg)
    end if
  end subroutine

  subroutine solver_option(self, key, val, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    character(*), intent(in) :: key, val
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_solver_option(self%handle, c_text(key), c_text(val)), stat, errmsg)
  end subroutine

  subroutine values_f64(self, values, diagonal, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: values(:, :, :)
    real(c_double), intent(in), contiguous, target, optional :: diagonal(:, :, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(array) :: apart
    if (present(diagonal)) apart = array(c_loc(diagonal), size(diagonal, kind=c_int64_t), F64)
    call settle(c_set_values(self%handle, array(c_loc(values), size(values, kind=c_int64_t), F64), apart, 0, &
      c_null_ptr), stat, errmsg)
  end subroutine

  subroutine values_f32(self, values, diagonal, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_float), intent(in), contiguous, target :: values(:, :, :)
    real(c_float), intent(in), contiguous, target, optional :: diagonal(:, :, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(array) :: apart
    if (present(diagonal)) apart = array(c_loc(diagonal), size(diagonal, kind=c_int64_t), F32)
    call settle(c_set_values(self%handle, array(c_loc(values), size(values, kind=c_int64_t), F32), apart, 0, &
      c_null_ptr), stat, errmsg)
  end subroutine

  subroutine solve_1(self, b, x, found, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: b(:)
    real(c_double), intent(inout), contiguous, target :: x(:)
    type(chromaflow_report), intent(out), optional :: found
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(report) :: r
    integer(c_int32_t) :: status
    real(c_double), pointer :: history(:)
    r%size = c_sizeof(r)
    status = c_solve(self%handle, doubles(b), doubles(x), r)
    if (status == CHROMAFLOW_OK .and. present(found)) then
      call c_f_pointer(r%history, history, [r%history_len])
      found = chromaflow_report(r%outcome, r%iterations, r%residual, r%seconds, history)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine solve_2(self, b, x, found, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: b(:, :)
    real(c_double), intent(inout), contiguous, target :: x(:, :)
    type(chromaflow_report), intent(out), optional :: found
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double), pointer, contiguous :: flat_b(:), flat_x(:)
    flat_b(1:size(b)) => b
    flat_x(1:size(x)) => x
    call self%solve_1(flat_b, flat_x, found, stat, errmsg)
  end subroutine

  subroutine solver_solve_many(self, b, x, found, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: b(:, :, :)
    real(c_double), intent(inout), contiguous, target :: x(:, :, :)
    type(chromaflow_report), intent(out), optional :: found(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(report) :: r(size(b, 3))
    integer(c_int32_t) :: status
    real(c_double), pointer, contiguous :: flat_b(:), flat_x(:), history(:)
    integer :: i
    flat_b(1:size(b)) => b
    flat_x(1:size(x)) => x
    r%size = c_sizeof(r(1))
    status = c_solve_many(self%handle, size(b, 3, c_int64_t), doubles(flat_b), doubles(flat_x), r)
    if (status == CHROMAFLOW_OK .and. present(found)) then
      do i = 1, min(size(r), size(found))
        call c_f_pointer(r(i)%history, history, [r(i)%history_len])
        found(i) = chromaflow_report(r(i)%outcome, r(i)%iterations, r(i)%residual, r(i)%seconds, history)
      end do
    end if
    call settle(status, stat, errmsg)
  end subroutine

  ! Without operator: with the matrix again.
  subroutine solver_matrix_free(self, operator, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    class(chromaflow_operator), intent(in), target, optional :: operator
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_funptr) :: call
    call = c_null_funptr
    if (present(operator) .and. associated(self%callers)) then
      self%callers%operator => operator
      call = c_funloc(call_operator)
    end if
    call settle(c_operator(self%handle, call, address(self)), stat, errmsg)
  end subroutine

  subroutine solver_distribute(self, ranks, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    class(chromaflow_ranks), intent(in), target :: ranks
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (associated(self%callers)) self%callers%ranks => ranks
    call settle(c_distribute(self%handle, c_funloc(call_exchange), c_funloc(call_reduce), address(self)), stat, errmsg)
  end subroutine

  ! Without monitor: none.
  subroutine solver_monitor(self, monitor, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    class(chromaflow_monitor), intent(in), target, optional :: monitor
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_funptr) :: call
    call = c_null_funptr
    if (present(monitor) .and. associated(self%callers)) then
      self%callers%monitor => monitor
      call = c_funloc(call_monitor)
    end if
    call settle(c_monitor(self%handle, call, address(self)), stat, errmsg)
  end subroutine

  function address(self) result(user)
    class(chromaflow_solver), intent(in) :: self
    type(c_ptr) :: user
    user = c_null_ptr
    if (associated(self%callers)) user = c_loc(self%callers)
  end function

  function call_operator(user, x, y) bind(c) result(status)
    type(c_ptr), value :: user
    type(array), value :: x, y
    integer(c_int32_t) :: status
    type(callers), pointer :: own
    real(c_double), pointer :: from(:), to(:)
    integer :: stat
    call c_f_pointer(user, own)
    call c_f_pointer(x%data, from, [x%len])
    call c_f_pointer(y%data, to, [y%len])
    stat = 0
    call own%operator%multiply(from, to, stat)
    status = int(stat, c_int32_t)
  end function

  function call_exchange(user, phase, x, nb) bind(c) result(status)
    type(c_ptr), value :: user
    integer(c_int32_t), value :: phase, nb
    type(array), value :: x
    integer(c_int32_t) :: status
    type(callers), pointer :: own
    real(c_double), pointer :: rows(:, :)
    integer :: stat
    call c_f_pointer(user, own)
    call c_f_pointer(x%data, rows, [int(nb, c_int64_t), x%len / nb])
    stat = 0
    call own%ranks%exchange(int(phase), rows, stat)
    status = int(stat, c_int32_t)
  end function

  function call_reduce(user, values, n) bind(c) result(status)
    type(c_ptr), value :: user, values
    integer(c_int32_t), value :: n
    integer(c_int32_t) :: status
    type(callers), pointer :: own
    real(c_double), pointer :: sums(:)
    integer :: stat
    call c_f_pointer(user, own)
    call c_f_pointer(values, sums, [n])
    stat = 0
    call own%ranks%reduce(sums, stat)
    status = int(stat, c_int32_t)
  end function

  function call_monitor(user, iteration, residual) bind(c) result(status)
    type(c_ptr), value :: user
    integer(c_int64_t), value :: iteration
    real(c_double), value :: residual
    integer(c_int32_t) :: status
    type(callers), pointer :: own
    integer :: stat
    call c_f_pointer(user, own)
    stat = 0
    call own%monitor%tell(iteration, residual, stat)
    status = int(stat, c_int32_t)
  end function

  subroutine apply_1(self, r, z, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: r(:)
    real(c_double), intent(inout), contiguous, target :: z(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_apply(self%handle, doubles(r), doubles(z)), stat, errmsg)
  end subroutine

  subroutine apply_2(self, r, z, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: r(:, :)
    real(c_double), intent(inout), contiguous, target :: z(:, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double), pointer, contiguous :: flat_r(:), flat_z(:)
    flat_r(1:size(r)) => r
    flat_z(1:size(z)) => z
    call self%apply_1(flat_r, flat_z, stat, errmsg)
  end subroutine

  subroutine multiply_1(self, x, y, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: x(:)
    real(c_double), intent(inout), contiguous, target :: y(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_multiply(self%handle, doubles(x), doubles(y)), stat, errmsg)
  end subroutine

  subroutine multiply_2(self, x, y, stat, errmsg)
    class(chromaflow_solver), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: x(:, :)
    real(c_double), intent(inout), contiguous, target :: y(:, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double), pointer, contiguous :: flat_x(:), flat_y(:)
    flat_x(1:size(x)) => x
    flat_y(1:size(y)) => y
    call self%multiply_1(flat_x, flat_y, stat, errmsg)
  end subroutine

  subroutine solver_destroy(self)
    class(chromaflow_solver), intent(inout) :: self
    call c_solver_destroy(self%handle)
    self%handle = c_null_ptr
    if (associated(self%callers)) deallocate (self%callers)
  end subroutine

  subroutine solver_final(self)
    type(chromaflow_solver), intent(inout) :: self
    call self%destroy()
  end subroutine

  ! leading: the first extent of the arrays, where it is larger than lines.
  subroutine lines_create(self, context, lines, rows, rank, periodic, leading, options, stat, errmsg)
    class(chromaflow_lines), intent(inout) :: self
    type(chromaflow_context), intent(in) :: context
    integer, intent(in) :: lines, rows, rank
    logical, intent(in), optional :: periodic
    integer, intent(in), optional :: leading
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(shape_of_lines) :: s
    s%size = c_sizeof(s)
    s%lines = lines
    s%rows = rows
    s%rank = rank
    s%periodic = 0
    if (present(periodic)) s%periodic = merge(1, 0, periodic)
    s%line = 1
    s%row = lines
    if (present(leading)) s%row = leading
    s%entry = s%row * rows
    call self%destroy()
    call settle(c_lines_create(context%handle, s, c_text(options), self%handle), stat, errmsg)
  end subroutine

  subroutine lines_factor(self, lower, diag, upper, stat, errmsg)
    class(chromaflow_lines), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: lower(:, :, :, :), diag(:, :, :, :), upper(:, :, :, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_lines_factor(self%handle, blocks(lower), blocks(diag), blocks(upper)), stat, errmsg)
  end subroutine

  subroutine lines_solve(self, f, stat, errmsg)
    class(chromaflow_lines), intent(inout) :: self
    real(c_double), intent(inout), contiguous, target :: f(:, :, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_lines_solve(self%handle, array(c_loc(f), size(f, kind=c_int64_t), F64)), stat, errmsg)
  end subroutine

  subroutine lines_solve_once(self, lower, diag, upper, f, stat, errmsg)
    class(chromaflow_lines), intent(inout) :: self
    real(c_double), intent(in), contiguous, target :: lower(:, :, :, :), diag(:, :, :, :), upper(:, :, :, :)
    real(c_double), intent(inout), contiguous, target :: f(:, :, :)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_lines_solve_once(self%handle, blocks(lower), blocks(diag), blocks(upper), &
      array(c_loc(f), size(f, kind=c_int64_t), F64)), stat, errmsg)
  end subroutine

  subroutine lines_destroy(self)
    class(chromaflow_lines), intent(inout) :: self
    call c_lines_destroy(self%handle)
    self%handle = c_null_ptr
  end subroutine

  subroutine lines_final(self)
    type(chromaflow_lines), intent(inout) :: self
    call self%destroy()
  end subroutine

  function doubles(v) result(a)
    real(c_double), intent(in), contiguous, target :: v(:)
    type(array) :: a
    a = array(c_loc(v), size(v, kind=c_int64_t), F64)
  end function

  function blocks(v) result(a)
    real(c_double), intent(in), contiguous, target :: v(:, :, :, :)
    type(array) :: a
    a = array(c_loc(v), size(v, kind=c_int64_t), F64)
  end function

end module chromaflow
