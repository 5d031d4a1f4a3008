! A system of a file through the Fortran module: the arguments and files of jacobian.c.
program jacobian
  use, intrinsic :: iso_fortran_env, only: real64, int32
  use chromaflow
  implicit none
  integer(int32) :: sizes(3)
  integer(int32), allocatable :: row_ptr(:), col_idx(:)
  real(real64), allocatable :: values(:, :, :), b(:, :), x(:, :), z(:, :)
  character(400) :: words(3)
  integer :: file, i

  do i = 1, 3
    call get_command_argument(i, words(i))
  end do
  open (newunit=file, file=trim(words(1)), access='stream', form='unformatted', status='old', action='read')
  read (file) sizes
  allocate (row_ptr(sizes(1) + 1), col_idx(sizes(3)), values(sizes(2), sizes(2), sizes(3)))
  allocate (b(sizes(2), sizes(1)), x(sizes(2), sizes(1)), z(sizes(2), sizes(1)))
  read (file) row_ptr, col_idx, values, b
  close (file)
  x = 0
  block
    type(chromaflow_context) :: context
    type(chromaflow_solver) :: solver
    type(chromaflow_report) :: report
    call context%create('threads=1')
    call solver%create(context, int(sizes(2)), row_ptr + 1, col_idx + 1, trim(words(2)))
    call solver%set_values(values)
    call solver%solve(b, x, report)
    call solver%apply(b, z)
    open (newunit=file, file=trim(words(3)), access='stream', form='unformatted', status='replace', action='write')
    write (file) real(report%iterations, real64), x, z
    close (file)
  end block
end program jacobian
