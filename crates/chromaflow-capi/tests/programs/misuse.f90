! Misuse through the Fortran module: status and text, and what works besides the example.
module ring
  use, intrinsic :: iso_fortran_env, only: real64, int64
  use chromaflow
  implicit none

  ! Three rows in a ring, cut before the first: rows 4 and 5 are rows 3 and 1 again.
  type, extends(chromaflow_ranks) :: around
    integer :: answer = 0, sums = 0
  contains
    procedure :: exchange
    procedure :: reduce
  end type

  type, extends(chromaflow_operator) :: twice
  contains
    procedure :: multiply
  end type

  ! Calls its own solver while that one solves.
  type, extends(chromaflow_operator) :: nested
    type(chromaflow_solver), pointer :: solver => null()
    integer :: stat = 0
    character(400) :: errmsg = ''
  contains
    procedure :: multiply => call_again
  end type

  type, extends(chromaflow_monitor) :: counter
    integer(int64) :: last = 0, most = huge(1_int64)
  contains
    procedure :: tell
  end type

contains

  subroutine exchange(self, phase, x, stat)
    class(around), intent(inout) :: self
    integer, intent(in) :: phase
    real(real64), intent(inout) :: x(:, :)
    integer, intent(inout) :: stat
    if (phase == 1) x(:, 4:5) = x(:, [3, 1])
    stat = self%answer
  end subroutine

  subroutine reduce(self, values, stat)
    class(around), intent(inout) :: self
    real(real64), intent(inout) :: values(:)
    integer, intent(inout) :: stat
    self%sums = self%sums + size(values)
    stat = 0
  end subroutine

  subroutine multiply(self, x, y, stat)
    class(twice), intent(inout) :: self
    real(real64), intent(in) :: x(:)
    real(real64), intent(inout) :: y(:)
    integer, intent(inout) :: stat
    y = 2 * x
    if (.not. same_type_as(self, self)) stat = 1
  end subroutine

  subroutine call_again(self, x, y, stat)
    class(nested), intent(inout) :: self
    real(real64), intent(in) :: x(:)
    real(real64), intent(inout) :: y(:)
    integer, intent(inout) :: stat
    real(real64) :: r(size(x)), z(size(x))
    r = x
    call self%solver%apply(r, z, stat=self%stat, errmsg=self%errmsg)
    y = x
    stat = 0
  end subroutine

  subroutine tell(self, iteration, residual, stat)
    class(counter), intent(inout) :: self
    integer(int64), intent(in) :: iteration
    real(real64), intent(in) :: residual
    integer, intent(inout) :: stat
    self%last = iteration
    if (iteration >= self%most .and. residual < 1) stat = 5
  end subroutine
end module ring

program misuse
  use, intrinsic :: iso_fortran_env, only: real32, real64, int32, int64, error_unit
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
  use chromaflow
  use ring
  use, intrinsic :: iso_c_binding, only: c_size_t
  implicit none
  ! What the C library says of its memory.
  type, bind(c) :: memory
    integer(c_size_t) :: arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost
  end type
  interface
    function mallinfo2() bind(c) result(info)
      import :: memory
      type(memory) :: info
    end function
  end interface
  integer, parameter :: rows = 3, nb = 2, nnzb = 7
  integer(int32), parameter :: row_ptr(rows + 1) = [1, 3, 6, 8], col_idx(nnzb) = [1, 2, 2, 1, 3, 3, 2]
  integer :: failures = 0

  call solvers()
  call batches()
  call callers_of_ours()
  if (failures > 0) error stop 'see above'

contains

  subroutine expect(stat, wanted, errmsg, fragment)
    integer, intent(in) :: stat, wanted
    character(*), intent(in) :: errmsg, fragment
    if (stat == wanted .and. index(errmsg, fragment) > 0) return
    write (error_unit, '(a, i0, a, i0, 2a)') 'status ', stat, ' instead of ', wanted, ': ', trim(errmsg)
    failures = failures + 1
  end subroutine

  subroutine solvers()
    type(chromaflow_context) :: context
    type(chromaflow_solver) :: solver
    type(chromaflow_report) :: report
    real(real64) :: values(nb, nb, nnzb), bad(nb, nb, nnzb), b(nb, rows), x(nb, rows), y(nb * rows), flat(nb * rows)
    character(400) :: errmsg
    integer :: stat, k
    values = 0
    do k = 1, nnzb
      values(1, 1, k) = merge(4, -1, any(k == [1, 3, 6]))
      values(2, 2, k) = values(1, 1, k)
      values(2, 1, k) = merge(1, 0, any(k == [1, 3, 6]))
    end do
    b = reshape([3, 4, 2, 3, 3, 4], [nb, rows])
    x = 0
    call solver%solve(b, x, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'solver is NULL')
    call context%create('thread=2', stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'did you mean `threads`?')
    call context%create('threads=2')
    call solver%create(context, nb, row_ptr, [1, 2, 2, 1, 9, 3, 2], stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_PATTERN, errmsg, 'row 2: column 9 is outside the matrix of 3 columns')
    call solver%create(context, nb, int(row_ptr, int64), int(col_idx, int64), 'tolerance=1e-12')
    call solver%solve(b, x, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_NO_VALUES, errmsg, 'no values')
    call solver%set_values(values(:, :, 2:), stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'values has 24 values, expected 28')
    bad = values
    bad(2, 1, 5) = ieee_value(1.0_real64, ieee_quiet_nan)
    call solver%set_values(bad, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_NOT_FINITE, errmsg, 'block row 2, block column 3: entry (1, 0)')
    call solver%set_values(real(values, real32))
    call solver%solve(b(:, :2), x, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'b has 4 values, expected 6')
    call solver%option('sweeps', 'many', stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'expected a whole number from 1')
    call solver%solve(b, x, report)
    if (report%outcome /= CHROMAFLOW_CONVERGED .or. size(report%history) /= report%iterations + 1) failures = failures + 1
    flat = reshape(x, [nb * rows])
    call solver%multiply(flat, y)
    if (maxval(abs(y - reshape(b, [nb * rows]))) > 1e-10_real64) failures = failures + 1
    call solver%apply(b, x)
    call solver%apply(reshape(b, [nb * rows]), y)
    if (any(reshape(x, [nb * rows]) /= y)) failures = failures + 1
    bad(:, 1, 1) = 0
    bad(2, 1, 5) = 0
    call solver%set_values(bad * 0, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_SINGULAR, errmsg, 'row 1')
    call solver%set_values(values)
    b(1, 2) = ieee_value(1.0_real64, ieee_quiet_nan)
    call solver%solve(b, x, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_NOT_FINITE, errmsg, 'b[2] is NaN')
    b(1, 2) = 2
    ! Any argument: for memory checkers, which are slow.
    call updates(solver, values, b, merge(1010, 20, command_argument_count() == 0))
  end subroutine

  ! New values and a solve a thousand times: no memory stays with any of them.
  subroutine updates(solver, values, b, count)
    type(chromaflow_solver), intent(inout) :: solver
    real(real64), contiguous, intent(in) :: values(:, :, :), b(:, :)
    integer, intent(in) :: count
    type(chromaflow_report) :: report
    real(real64) :: x(nb, rows)
    integer(c_size_t) :: before
    integer :: i
    before = 0
    do i = 1, count
      if (i == 11) before = held()
      call solver%set_values(values)
      x = 0
      call solver%solve(b, x, report)
      if (report%outcome /= CHROMAFLOW_CONVERGED) failures = failures + 1
    end do
    if (held() <= before + 4096) return
    write (error_unit, '(2(i0, a))') before, ' bytes became ', held()
    failures = failures + 1
  end subroutine

  function held()
    integer(c_size_t) :: held
    type(memory) :: info
    info = mallinfo2()
    held = info%uordblks + info%hblkhd
  end function

  ! Ranks, operators, monitors and several right-hand sides.
  subroutine callers_of_ours()
    type(chromaflow_context) :: context
    type(chromaflow_solver), target :: solver
    type(chromaflow_report) :: reports(2)
    type(around) :: ranks
    type(twice) :: operator
    type(nested) :: again
    type(counter) :: monitor
    real(real64) :: values(1, 1, 9), b(1, rows, 2), x(1, rows, 2), y(1, rows)
    character(400) :: errmsg
    integer :: stat
    values(1, 1, :) = [-1, 4, -1, -1, 4, -1, -1, 4, -1]
    b(1, :, 1) = [2, 2, 2]
    b(1, :, 2) = [7, 2, -3]
    x = 0
    call context%create()
    call solver%create(context, 1, [1, 4, 7, 10], [4, 1, 2, 1, 2, 3, 2, 3, 5], 'policy=d', ghosts=2)
    call solver%set_values(values)
    call solver%solve(b(:, :, 1), x(:, :, 1), stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, '2 ghost columns')
    call solver%distribute(ranks)
    call solver%monitor(monitor)
    call solver%solve_many(b, x, reports)
    if (any(abs(x(1, :, 1) - 1) > 1e-9_real64) .or. any(reports%outcome /= CHROMAFLOW_CONVERGED)) failures = failures + 1
    if (ranks%sums == 0 .or. monitor%last == 0 .or. .not. allocated(reports(2)%history)) failures = failures + 1
    call solver%multiply(x(:, :, 2), y)
    if (any(abs(y - b(:, :, 2)) > 1e-8_real64)) failures = failures + 1
    call solver%solve_many(b, x(:, :, :1), stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'x has 3 values, expected 6')
    monitor%most = 1
    x = 0
    call solver%solve_many(b(:, :, 2:), x(:, :, 2:), reports(:1))
    if (reports(1)%outcome /= CHROMAFLOW_STOPPED .or. reports(1)%iterations /= 1) failures = failures + 1
    call solver%monitor()
    call solver%matrix_free(operator)
    call solver%solve_many(b, x)
    if (any(abs(2 * x - b) > 1e-8_real64)) failures = failures + 1
    again%solver => solver
    call solver%matrix_free(again)
    call solver%solve(b(:, :, 1), x(:, :, 1))
    call expect(again%stat, CHROMAFLOW_BAD_ARGUMENT, again%errmsg, 'one call at a time')
    call solver%matrix_free()
    ranks%answer = 3
    call solver%multiply(x(:, :, 1), y, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_CALLBACK, errmsg, 'the exchange returned 3')
    call context%log(9, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'level 9')
  end subroutine

  ! Two lines of a straight line's equation, in arrays with one more place in front.
  subroutine batches()
    type(chromaflow_context) :: context
    type(chromaflow_lines) :: lines
    real(real64) :: lower(3, 4, 1, 1), diag(3, 4, 1, 1), f(3, 4, 1), once(3, 4, 1)
    character(400) :: errmsg
    integer :: stat, i
    lower = -1
    diag = 2
    f = 0
    f(1, 4, 1) = 1
    f(2, 4, 1) = 2
    once = f
    call context%create()
    call lines%create(context, 2, 4, 65, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_BAD_ARGUMENT, errmsg, 'rank 65')
    call lines%create(context, 2, 4, 1, leading=3)
    call lines%solve(f, stat=stat, errmsg=errmsg)
    call expect(stat, CHROMAFLOW_NO_VALUES, errmsg, 'no factors')
    call lines%factor(lower, diag, lower)
    call lines%solve(f)
    call lines%solve_once(lower, diag, lower, once)
    do i = 1, 4
      if (maxval(abs(f(:2, i, 1) - [1, 2] * i / 5.0_real64)) > 1e-14_real64) failures = failures + 1
    end do
    if (any(f /= once)) failures = failures + 1
  end subroutine
end program misuse
