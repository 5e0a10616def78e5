! mpi_alltoall and mpi_alltoallv, in place too, mpi_neighbor_alltoall and mpi_ineighbor_alltoall by
! one of the three Fortran interfaces, checked.
! Built three times: with -DBY_MPIF, -DBY_MODULE and -DBY_F08.
program exchange
#if defined(BY_F08)
  use mpi_f08
  implicit none
#elif defined(BY_MODULE)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer, parameter :: most = 100
  integer :: rank, ranks, code, from, to, i, length, level
  integer, allocatable :: send(:), recv(:)
  integer, allocatable :: out_counts(:), out_places(:), in_counts(:), in_places(:)
  integer :: left, right, to_both(2 * most), from_both(2 * most)
  logical :: found
#if defined(BY_F08)
  type(MPI_Comm) :: ring
  type(MPI_Request) :: request
#else
  integer :: ring, request
#endif
  double precision :: begin

  call mpi_init_thread(MPI_THREAD_MULTIPLE, level, code)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, code)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, code)
  allocate (send(most * ranks), recv(most * ranks))
  allocate (out_counts(ranks), out_places(ranks), in_counts(ranks), in_places(ranks))

  ! Blocks of equal size.
  do to = 0, ranks - 1
    do i = 1, most
      send(to * most + i) = element(rank, to, i)
    end do
  end do
  recv = -1
  call mpi_alltoall(send, most, MPI_INTEGER, recv, most, MPI_INTEGER, MPI_COMM_WORLD, code)
  do from = 0, ranks - 1
    call check(recv(from * most + 1:from * most + most), from, most, 'mpi_alltoall')
  end do

  recv = send
  call mpi_alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, recv, most, MPI_INTEGER, MPI_COMM_WORLD, code)
  do from = 0, ranks - 1
    call check(recv(from * most + 1:from * most + most), from, most, 'mpi_alltoall in place')
  end do

  ! Blocks of all sizes, some empty. Places count from zero.
  do i = 0, ranks - 1
    out_counts(i + 1) = count_of(rank, i)
    in_counts(i + 1) = count_of(i, rank)
    out_places(i + 1) = i * most
    in_places(i + 1) = (ranks - 1 - i) * most
  end do
  recv = -1
  call mpi_alltoallv(send, out_counts, out_places, MPI_INTEGER, recv, in_counts, in_places, &
                     MPI_INTEGER, MPI_COMM_WORLD, code)
  do from = 0, ranks - 1
    length = in_counts(from + 1)
    i = in_places(from + 1)
    call check(recv(i + 1:i + length), from, length, 'mpi_alltoallv')
    if (any(recv(i + length + 1:i + most) /= -1)) call fail('mpi_alltoallv wrote beyond a block')
  end do

  ! In place what goes one way is as long as what goes the other.
  do i = 0, ranks - 1
    in_counts(i + 1) = count_of(min(rank, i), max(rank, i))
  end do
  recv = send
  call mpi_alltoallv(MPI_IN_PLACE, in_counts, out_places, MPI_INTEGER, recv, in_counts, &
                     out_places, MPI_INTEGER, MPI_COMM_WORLD, code)
  do from = 0, ranks - 1
    length = in_counts(from + 1)
    call check(recv(from * most + 1:from * most + length), from, length, 'mpi_alltoallv in place')
  end do

  ! Around a ring.
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  do i = 1, most
    to_both(i) = element(rank, left, i)
    to_both(most + i) = element(rank, right, i)
  end do
  from_both = -1
  call mpi_cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, code)
  call mpi_neighbor_alltoall(to_both, most, MPI_INTEGER, from_both, most, MPI_INTEGER, ring, code)
  call check(from_both(1:most), left, most, 'mpi_neighbor_alltoall')
  call check(from_both(most + 1:2 * most), right, most, 'mpi_neighbor_alltoall')
  from_both = -1
  call mpi_ineighbor_alltoall(to_both, most, MPI_INTEGER, from_both, most, MPI_INTEGER, ring, &
                              request, code)
  call mpi_wait(request, MPI_STATUS_IGNORE, code)
  call check(from_both(1:most), left, most, 'mpi_ineighbor_alltoall')
  call check(from_both(most + 1:2 * most), right, most, 'mpi_ineighbor_alltoall')

  ! See check.h on MPI_Finalize of MPICH before 4.2.
  begin = mpi_wtime()
  do while (mpi_wtime() - begin < 0.3)
    call mpi_iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, found, MPI_STATUS_IGNORE, code)
  end do
  call mpi_finalize(code)
  if (rank == 0) print '(a)', 'CORRECT'

contains

  pure integer function element(source, target, index)
    integer, intent(in) :: source, target, index
    element = (source * 1000 + target) * 1000 + index
  end function

  pure integer function count_of(source, target)
    integer, intent(in) :: source, target
    count_of = mod(7 * source + 3 * target, 11) * 9
  end function

  subroutine check(block, source, length, what)
    integer, intent(in) :: block(:), source, length
    character(len=*), intent(in) :: what
    integer :: index
    do index = 1, length
      if (block(index) /= element(source, rank, index)) call fail(what)
    end do
  end subroutine

  subroutine fail(what)
    character(len=*), intent(in) :: what
    print '(a, a, a, i0)', 'WRONG: ', what, ' on rank ', rank
    call mpi_abort(MPI_COMM_WORLD, 99, code)
  end subroutine
end program
