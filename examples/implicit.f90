! Two coupled unknowns on a 40 x 40 grid, three implicit steps with growing time step: pattern once, values every step.
program implicit
  use, intrinsic :: iso_fortran_env, only: real64
  use chromaflow
  implicit none
  integer, parameter :: n = 40, rows = n * n, nb = 2
  real(real64), parameter :: weight(4) = [-1.2_real64, -1.1_real64, -0.8_real64, -0.9_real64]
  real(real64), parameter :: shifts(3) = [10.0_real64, 1.0_real64, 0.1_real64]
  integer :: row_ptr(rows + 1), col_idx(5 * rows), nnzb, row, side, step, k
  real(real64) :: values(nb, nb, 5 * rows), b(nb, rows), x(nb, rows)

  nnzb = 0
  row_ptr(1) = 1
  do row = 1, rows
    nnzb = nnzb + 1
    col_idx(nnzb) = row                    ! the diagonal block comes first
    do side = 1, 4
      if (neighbor(row, side) > 0) then
        nnzb = nnzb + 1
        col_idx(nnzb) = neighbor(row, side)
      end if
    end do
    row_ptr(row + 1) = nnzb + 1
  end do
  block
    type(chromaflow_context) :: context
    type(chromaflow_solver) :: solver
    type(chromaflow_report) :: report
    call context%create('threads=2')
    call solver%create(context, nb, row_ptr, col_idx(:nnzb), 'preconditioner=ilu0, policy=d')
    b = 1
    x = 0
    do step = 1, 3
      k = 0
      do row = 1, rows
        k = k + 1
        values(:, :, k) = reshape([4 + shifts(step), -0.5_real64, 1.0_real64, 4 + shifts(step)], [nb, nb])
        do side = 1, 4
          if (neighbor(row, side) == 0) cycle
          k = k + 1
          values(:, :, k) = reshape([weight(side), 0.0_real64, 0.0_real64, weight(side)], [nb, nb])
        end do
      end do
      call solver%set_values(values(:, :, :nnzb))
      call solver%solve(b, x, report)
      print '(i0, a, es22.16e2)', report%iterations, ' iterations, x(1) = ', x(1, 1)
      if (report%outcome /= CHROMAFLOW_CONVERGED) error stop 'not converged'
    end do
  end block                                ! which destroys solver and context
contains
  ! Neighbors west, south, east, north of a row, or 0.
  pure integer function neighbor(row, side)
    integer, intent(in) :: row, side
    integer :: i, j
    i = modulo(row - 1, n) + merge(1, 0, side == 3) - merge(1, 0, side == 1)
    j = (row - 1) / n + merge(1, 0, side == 4) - merge(1, 0, side == 2)
    neighbor = merge(j * n + i + 1, 0, i >= 0 .and. j >= 0 .and. i < n .and. j < n)
  end function neighbor
end program implicit
