! A small implicit flow code that calls Chromaflow for its linear step: the 2-D Euler equations by finite volumes.
!
! Supersonic flow between two circular arcs, a vortex whose exact solution is known: second order in space by linear
! reconstruction and Roe's fluxes, backward Euler steps with growing CFL number to the steady state, the matrix that of
! first-order fluxes. Two grids show that the error falls as the square of the cell.
!
! Source of the case: Aftosmis, Gaitonde, Tavares, AIAA Journal 33 (1995), "Behavior of linear reconstruction techniques on
! unstructured meshes". Roe's flux: Roe, Journal of Computational Physics 43 (1981).
module vortex
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: nb = 4
  real(real64), parameter :: gamma = 1.4_real64, inner = 1.0_real64, outer = 1.384_real64, mach = 2.25_real64
contains

  ! Density, velocity, pressure at a place; speed of sound 1 and density 1 at the inner arc.
  pure function exact(x) result(w)
    real(real64), intent(in) :: x(2)
    real(real64) :: w(nb), r, speed
    r = norm2(x)
    speed = mach * inner / r
    w(1) = (1 + (gamma - 1) / 2 * mach**2 * (1 - (inner / r)**2))**(1 / (gamma - 1))
    w(2:3) = speed * [x(2), -x(1)] / r
    w(4) = w(1)**gamma / gamma
  end function exact

  pure function conserved(w) result(u)
    real(real64), intent(in) :: w(nb)
    real(real64) :: u(nb)
    u = [w(1), w(1) * w(2), w(1) * w(3), w(4) / (gamma - 1) + 0.5_real64 * w(1) * (w(2)**2 + w(3)**2)]
  end function conserved

  pure function primitive(u) result(w)
    real(real64), intent(in) :: u(nb)
    real(real64) :: w(nb)
    w(1:3) = [u(1), u(2) / u(1), u(3) / u(1)]
    w(4) = (gamma - 1) * (u(4) - 0.5_real64 * (u(2)**2 + u(3)**2) / u(1))
  end function primitive

  ! Flux of a state through a face with normal s, as long as the face.
  pure function through(w, s) result(f)
    real(real64), intent(in) :: w(nb), s(2)
    real(real64) :: f(nb), volume
    volume = dot_product(w(2:3), s)
    f = volume * conserved(w)
    f(2:3) = f(2:3) + w(4) * s
    f(4) = f(4) + volume * w(4)
  end function through

  ! Roe's flux between two states.
  pure function roe(l, r, s) result(f)
    real(real64), intent(in) :: l(nb), r(nb), s(2)
    real(real64) :: f(nb), n(2), weight, v(2), h, c, vn, d(nb), dn, rho, wave(3)
    n = s / norm2(s)
    weight = sqrt(r(1) / l(1))
    rho = weight * l(1)
    v = (l(2:3) + weight * r(2:3)) / (1 + weight)
    h = (enthalpy(l) + weight * enthalpy(r)) / (1 + weight)
    c = sqrt((gamma - 1) * (h - 0.5_real64 * sum(v**2)))
    vn = dot_product(v, n)
    d = r - l
    dn = dot_product(d(2:3), n)
    wave = [abs(vn - c) * (d(4) - rho * c * dn), abs(vn + c) * (d(4) + rho * c * dn), abs(vn)] / (2 * c**2)
    f = wave(1) * [1.0_real64, v - c * n, h - c * vn] + wave(2) * [1.0_real64, v + c * n, h + c * vn]
    f = f + abs(vn) * (d(1) - d(4) / c**2) * [1.0_real64, v, 0.5_real64 * sum(v**2)]
    f(2:3) = f(2:3) + abs(vn) * rho * (d(2:3) - dn * n)
    f(4) = f(4) + abs(vn) * rho * (dot_product(v, d(2:3)) - vn * dn)
    f = 0.5_real64 * (through(l, s) + through(r, s) - norm2(s) * f)
  end function roe

  pure function enthalpy(w) result(h)
    real(real64), intent(in) :: w(nb)
    real(real64) :: h
    h = gamma / (gamma - 1) * w(4) / w(1) + 0.5_real64 * sum(w(2:3)**2)
  end function enthalpy

  ! Nothing but pressure acts on a wall.
  pure function wall(w, s) result(f)
    real(real64), intent(in) :: w(nb), s(2)
    real(real64) :: f(nb)
    f = [0.0_real64, w(4) * s, 0.0_real64]
  end function wall
end module vortex

! Grid, residual and matrix.
module cells
  use vortex
  implicit none
  integer :: ni, nj, nnzb
  ! Conserved and primitive state, residual and time step of each cell.
  real(real64), allocatable :: u(:, :, :), w(:, :, :), res(:, :, :), rate(:, :)
  ! Middle and volume of each cell; normals of its faces east and north (0: west and south of the first).
  real(real64), allocatable :: middle(:, :, :), volume(:, :), east(:, :, :), north(:, :, :), entry(:, :)
  ! Rows of cells; where the blocks of a cell itself and of its neighbors west, east, south, north stand, or 0.
  integer, allocatable :: row_ptr(:), col_idx(:), place(:, :, :)
  real(real64), allocatable :: values(:, :, :)
contains

  subroutine grid(cells_along, cells_across)
    integer, intent(in) :: cells_along, cells_across
    real(real64), allocatable :: node(:, :, :)
    real(real64) :: a(2), b(2), angle, r
    integer :: i, j
    ni = cells_along
    nj = cells_across
    allocate (u(nb, ni, nj), w(nb, ni, nj), res(nb, ni, nj), rate(ni, nj), middle(2, ni, nj), volume(ni, nj))
    allocate (east(2, 0:ni, nj), north(2, ni, 0:nj), entry(nb, nj), node(2, 0:ni, 0:nj))
    do j = 0, nj
      do i = 0, ni
        angle = acos(0.0_real64) * (1 - real(i, real64) / ni)
        r = inner + (outer - inner) * j / nj
        node(:, i, j) = r * [cos(angle), sin(angle)]
      end do
    end do
    do j = 1, nj
      do i = 0, ni
        a = node(:, i, j) - node(:, i, j - 1)
        east(:, i, j) = [a(2), -a(1)]
      end do
      entry(:, j) = exact(0.5_real64 * (node(:, 0, j) + node(:, 0, j - 1)))
    end do
    do j = 0, nj
      do i = 1, ni
        a = node(:, i, j) - node(:, i - 1, j)
        north(:, i, j) = [-a(2), a(1)]
      end do
    end do
    do j = 1, nj
      do i = 1, ni
        a = node(:, i, j) - node(:, i - 1, j - 1)
        b = node(:, i - 1, j) - node(:, i, j - 1)
        volume(i, j) = 0.5_real64 * (a(1) * b(2) - a(2) * b(1))
        middle(:, i, j) = 0.25_real64 * sum(sum(node(:, i - 1:i, j - 1:j), 3), 2)
        ! To begin with: one speed, density and pressure everywhere.
        r = 0.5_real64 * (inner + outer) / norm2(middle(:, i, j))
        u(:, i, j) = conserved(exact(r * middle(:, i, j)))
      end do
    end do
  end subroutine grid

  ! Once a grid: rows, and the places of their blocks.
  subroutine pattern()
    integer :: i, j, side, row
    allocate (row_ptr(ni * nj + 1), col_idx(5 * ni * nj), place(5, ni, nj), values(nb, nb, 5 * ni * nj))
    nnzb = 0
    place = 0
    do j = 1, nj
      do i = 1, ni
        row = i + ni * (j - 1)
        row_ptr(row) = nnzb + 1
        do side = 1, 5
          if ((side == 2 .and. i == 1) .or. (side == 3 .and. i == ni)) cycle
          if ((side == 4 .and. j == 1) .or. (side == 5 .and. j == nj)) cycle
          nnzb = nnzb + 1
          place(side, i, j) = nnzb
          col_idx(nnzb) = row + merge(1, 0, side == 3) - merge(1, 0, side == 2) &
            + merge(ni, 0, side == 5) - merge(ni, 0, side == 4)
        end do
      end do
    end do
    row_ptr(ni * nj + 1) = nnzb + 1
  end subroutine pattern

  ! States at the n + 1 faces of a line of cells, of the cells left and right of each, by linear reconstruction; at the
  ! ends by that of the cell there.
  pure subroutine reconstruct(n, line, left, right)
    integer, intent(in) :: n
    real(real64), intent(in) :: line(nb, n)
    real(real64), intent(out) :: left(nb, 0:n), right(nb, 0:n)
    real(real64) :: slope(nb, n)
    slope(:, 2:n - 1) = 0.5_real64 * (line(:, 3:) - line(:, :n - 2))
    slope(:, 1) = line(:, 2) - line(:, 1)
    slope(:, n) = line(:, n) - line(:, n - 1)
    left(:, 1:) = line + 0.5_real64 * slope
    right(:, :n - 1) = line - 0.5_real64 * slope
    left(:, 0) = right(:, 0)
    right(:, n) = left(:, n)
  end subroutine reconstruct

  ! What flows out of each cell, and how fast waves cross it.
  subroutine residual()
    real(real64) :: along(nb, 0:ni, 2), across(nb, 0:nj, 2), f(nb)
    integer :: i, j
    do j = 1, nj
      do i = 1, ni
        w(:, i, j) = primitive(u(:, i, j))
      end do
    end do
    res = 0
    rate = 0
    do j = 1, nj
      call reconstruct(ni, w(:, :, j), along(:, :, 1), along(:, :, 2))
      along(:, 0, 1) = entry(:, j)
      do i = 0, ni
        f = merge(roe(along(:, i, 1), along(:, i, 2), east(:, i, j)), through(along(:, i, 1), east(:, i, j)), i > 0)
        call add(f, i, j, i + 1, j)
        call cross(along(:, i, 1), east(:, i, j), i, j, i + 1, j)
      end do
    end do
    do i = 1, ni
      call reconstruct(nj, w(:, i, :), across(:, :, 1), across(:, :, 2))
      do j = 0, nj
        if (j == 0 .or. j == nj) then
          f = wall(across(:, j, 1), north(:, i, j))
        else
          f = roe(across(:, j, 1), across(:, j, 2), north(:, i, j))
        end if
        call add(f, i, j, i, j + 1)
        call cross(across(:, j, 1), north(:, i, j), i, j, i, j + 1)
      end do
    end do
  end subroutine residual

  subroutine add(f, i, j, k, l)
    real(real64), intent(in) :: f(nb)
    integer, intent(in) :: i, j, k, l
    if (i > 0 .and. j > 0) res(:, i, j) = res(:, i, j) + f
    if (k <= ni .and. l <= nj) res(:, k, l) = res(:, k, l) - f
  end subroutine add

  subroutine cross(state, s, i, j, k, l)
    real(real64), intent(in) :: state(nb), s(2)
    integer, intent(in) :: i, j, k, l
    real(real64) :: fastest
    fastest = abs(dot_product(state(2:3), s)) + sqrt(gamma * state(4) / state(1)) * norm2(s)
    if (i > 0 .and. j > 0) rate(i, j) = rate(i, j) + 0.5_real64 * fastest
    if (k <= ni .and. l <= nj) rate(k, l) = rate(k, l) + 0.5_real64 * fastest
  end subroutine cross

  ! The matrix of a backward Euler step: time term, and derivatives of first-order fluxes.
  subroutine matrix(cfl)
    real(real64), intent(in) :: cfl
    integer :: i, j, m
    values = 0
    do j = 1, nj
      do i = 1, ni
        do m = 1, nb
          values(m, m, place(1, i, j)) = rate(i, j) / cfl
        end do
      end do
    end do
    do j = 1, nj
      do i = 1, ni ! the flow enters faster than sound: what comes in does not depend on the cells
        call couple(i, j, i + 1, j, east(:, i, j), 3, 2)
      end do
    end do
    do i = 1, ni
      call couple_wall(i, 1, -north(:, i, 0))
      do j = 1, nj - 1
        call couple(i, j, i, j + 1, north(:, i, j), 5, 4)
      end do
      call couple_wall(i, nj, north(:, i, nj))
    end do
  end subroutine matrix

  ! Derivatives of the flux between two cells, or out of the last, by differences.
  subroutine couple(i, j, k, l, s, to, from)
    integer, intent(in) :: i, j, k, l, to, from
    real(real64), intent(in) :: s(2)
    real(real64) :: base(nb), other(nb), d(nb), h
    integer :: m
    if (k > ni) then
      base = through(w(:, i, j), s)
    else
      other = w(:, k, l)
      base = roe(w(:, i, j), other, s)
    end if
    do m = 1, nb
      h = 1e-7_real64 * max(1.0_real64, abs(u(m, i, j)))
      if (k > ni) then
        values(:, m, place(1, i, j)) = values(:, m, place(1, i, j)) + (through(moved(i, j), s) - base) / h
        cycle
      end if
      d = (roe(moved(i, j), other, s) - base) / h
      values(:, m, place(1, i, j)) = values(:, m, place(1, i, j)) + d
      values(:, m, place(from, k, l)) = values(:, m, place(from, k, l)) - d
      d = (roe(w(:, i, j), moved(k, l), s) - base) / h
      values(:, m, place(to, i, j)) = values(:, m, place(to, i, j)) + d
      values(:, m, place(1, k, l)) = values(:, m, place(1, k, l)) - d
    end do
  contains
    pure function moved(i, j) result(state)
      integer, intent(in) :: i, j
      real(real64) :: state(nb)
      state = u(:, i, j)
      state(m) = state(m) + h
      state = primitive(state)
    end function moved
  end subroutine couple

  subroutine couple_wall(i, j, s)
    integer, intent(in) :: i, j
    real(real64), intent(in) :: s(2)
    real(real64) :: state(nb), h
    integer :: m
    do m = 1, nb
      h = 1e-7_real64 * max(1.0_real64, abs(u(m, i, j)))
      state = u(:, i, j)
      state(m) = state(m) + h
      values(:, m, place(1, i, j)) = values(:, m, place(1, i, j)) + (wall(primitive(state), s) - wall(w(:, i, j), s)) / h
    end do
  end subroutine couple_wall
end module cells

program euler
  use chromaflow
  use cells
  implicit none
  real(real64) :: errors(2)
  integer :: level
  do level = 1, 2
    call run(32 * level, 16 * level, errors(level))
  end do
  print '(a, f4.2)', 'order of accuracy ', log(errors(1) / errors(2)) / log(2.0_real64)
  if (errors(1) / errors(2) < 3) error stop 'where cells are halved the error must fall by three at least'
contains

  ! The steady state on so many cells; the mean error of its density.
  subroutine run(along, across, error)
    integer, intent(in) :: along, across
    real(real64), intent(out) :: error
    type(chromaflow_context) :: context
    type(chromaflow_solver) :: solver
    type(chromaflow_report) :: report
    real(real64), allocatable :: step(:, :)
    real(real64) :: first, now
    integer :: steps, linear, i, j
    if (allocated(u)) deallocate (u, w, res, rate, middle, volume, east, north, entry, row_ptr, col_idx, place, values)
    call grid(along, across)
    call pattern()
    call context%create()
    call solver%create(context, nb, row_ptr, col_idx(:nnzb), 'tolerance=1e-2')
    allocate (step(nb, ni * nj))
    linear = 0
    do steps = 0, 200
      call residual()
      now = norm2(res)
      if (steps == 0) first = now
      if (now < 1e-10_real64 * first) exit
      call matrix(min(10 * first / now, 1e6_real64))
      call solver%set_values(values(:, :, :nnzb))
      step = 0
      call solver%solve(reshape(-res, [nb, ni * nj]), step, report)
      if (report%outcome /= CHROMAFLOW_CONVERGED) error stop 'the linear system was not solved'
      linear = linear + int(report%iterations)
      u = u + reshape(step, shape(u))
    end do
    error = 0
    do j = 1, nj
      do i = 1, ni
        error = error + abs(u(1, i, j) - density(exact(middle(:, i, j)))) * volume(i, j)
      end do
    end do
    error = error / sum(volume)
    print '(2(i0, a), i0, a, i0, a, es8.1, a, es9.3)', ni, ' x ', nj, ' cells: ', steps, ' steps, ', linear, &
      ' linear iterations, residual ', now / first, ', mean error of the density ', error
    if (steps > 200) error stop 'not converged'
  end subroutine run

  pure real(real64) function density(state)
    real(real64), intent(in) :: state(nb)
    density = state(1)
  end function density
end program euler
