! Transposes a matrix that is distributed by columns, and transposes it back.
!
! Where the ranks divide the columns evenly that is one mpi_alltoall, else one mpi_alltoallv. The
! second transposition goes in place.
!
!   mpifort transpose.f90 && mpirun -n 32 ./a.out [columns [repeats]]
program transpose_matrix
  use, intrinsic :: iso_fortran_env, only: real64, int64
  use mpi_f08
  implicit none
  integer :: n, repeats, rank, ranks, i, j, step, mine, first
  integer, allocatable :: columns(:), begins(:), counts(:), places(:)
  real(real64), allocatable :: matrix(:, :), packed(:), received(:)
  real(real64) :: begin, seconds
  integer(int64) :: wrong, result

  call mpi_init()
  call mpi_comm_rank(mpi_comm_world, rank)
  call mpi_comm_size(mpi_comm_world, ranks)
  n = argument(1, 2048)
  repeats = argument(2, 3)

  ! Rank r has columns(r) columns, from begins(r) on. As the blocks between r and s are
  ! columns(r) x columns(s), whichever way they go, what is sent is as large as what is received.
  allocate (columns(0:ranks - 1), begins(0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1))
  do i = 0, ranks - 1
    columns(i) = n / ranks + merge(1, 0, i < mod(n, ranks))
    begins(i) = sum(columns(0:i - 1))
  end do
  mine = columns(rank)
  first = begins(rank)
  counts = columns * mine
  places = begins * mine
  allocate (matrix(n, mine), packed(n * mine), received(n * mine))

  do j = 1, mine
    do i = 1, n
      matrix(i, j) = element(i, first + j)
    end do
  end do

  call there_and_back(wrong, result)  ! connects the ranks: not what is measured
  call mpi_barrier(mpi_comm_world)
  begin = mpi_wtime()
  do step = 1, repeats
    call there_and_back(wrong, result)
  end do
  seconds = (mpi_wtime() - begin) / repeats

  call mpi_allreduce(mpi_in_place, wrong, 1, mpi_integer8, mpi_sum, mpi_comm_world)
  call mpi_allreduce(mpi_in_place, result, 1, mpi_integer8, mpi_bxor, mpi_comm_world)
  call mpi_allreduce(mpi_in_place, seconds, 1, mpi_double_precision, mpi_max, mpi_comm_world)
  if (rank == 0) then
    print '(a, i0, a, i0, a, i0, a)', 'size ', n, ' x ', n, ' reals on ', ranks, ' ranks'
    print '(a, z16.16)', 'result ', result
    print '(a, i0)', 'wrong ', wrong
    print '(a, f0.4)', 'seconds ', seconds
  end if
  call mpi_finalize()
  if (wrong /= 0) error stop 1

contains

  pure real(real64) function element(row, column)
    integer, intent(in) :: row, column
    element = real(row, real64) + real(column, real64) / 65536
  end function

  ! What differs from the transposed and from the first matrix, and the bits of the transposed.
  subroutine there_and_back(wrong, result)
    integer(int64), intent(out) :: wrong, result
    integer :: row, column

    call pack_blocks()
    if (mod(n, ranks) == 0) then
      call mpi_alltoall(packed, counts(0), mpi_double_precision, received, counts(0), &
                        mpi_double_precision, mpi_comm_world)
    else
      call mpi_alltoallv(packed, counts, places, mpi_double_precision, received, counts, places, &
                         mpi_double_precision, mpi_comm_world)
    end if
    call unpack_blocks()
    wrong = 0
    result = 0
    do column = 1, mine
      do row = 1, n
        if (matrix(row, column) /= element(first + column, row)) wrong = wrong + 1
        result = ieor(result, transfer(matrix(row, column), result) * (row + n * (first + column)))
      end do
    end do

    call pack_blocks()
    received = packed
    if (mod(n, ranks) == 0) then
      call mpi_alltoall(mpi_in_place, 0, mpi_datatype_null, received, counts(0), &
                        mpi_double_precision, mpi_comm_world)
    else
      call mpi_alltoallv(mpi_in_place, counts, places, mpi_datatype_null, received, counts, &
                         places, mpi_double_precision, mpi_comm_world)
    end if
    call unpack_blocks()
    do column = 1, mine
      do row = 1, n
        if (matrix(row, column) /= element(row, first + column)) wrong = wrong + 1
      end do
    end do
  end subroutine

  ! The rows each rank will have as columns, one block after the other, already transposed.
  subroutine pack_blocks()
    integer :: to
    do to = 0, ranks - 1
      packed(places(to) + 1:places(to) + counts(to)) = &
        reshape(transpose(matrix(begins(to) + 1:begins(to) + columns(to), :)), [counts(to)])
    end do
  end subroutine

  subroutine unpack_blocks()
    integer :: from
    do from = 0, ranks - 1
      matrix(begins(from) + 1:begins(from) + columns(from), :) = &
        reshape(received(places(from) + 1:places(from) + counts(from)), [columns(from), mine])
    end do
  end subroutine

  integer function argument(index, default)
    integer, intent(in) :: index, default
    character(len=32) :: text
    argument = default
    if (command_argument_count() < index) return
    call get_command_argument(index, text)
    read (text, *) argument
  end function
end program
