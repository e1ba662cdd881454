! The density of density.c, N((1, -2), diag(1, 1/4)), in Fortran.
module density
  use, intrinsic :: iso_c_binding
  implicit none
contains

  integer(c_int) function abi_version() bind(c, name="provi_abi_version")
    abi_version = 1
  end function

  integer(c_size_t) function dimension_of(model) bind(c, name="provi_dim")
    type(c_ptr), value :: model
    dimension_of = 2
  end function

  ! Fortran's first index runs fastest: column k holds point k.
  integer(c_int) function log_density_gradient(n, d, z, log_density, gradient, model) &
      bind(c, name="provi_log_density_gradient")
    integer(c_size_t), value :: n, d
    real(c_double), intent(in) :: z(d, n)
    real(c_double), intent(out) :: log_density(n), gradient(d, n)
    type(c_ptr), value :: model
    real(c_double), parameter :: log_2pi = 1.8378770664093454836_c_double
    gradient(1, :) = 1.0_c_double - z(1, :)
    gradient(2, :) = -4.0_c_double * (z(2, :) + 2.0_c_double)
    log_density = -0.5_c_double * (z(1, :) - 1.0_c_double)**2 - 2.0_c_double * (z(2, :) + 2.0_c_double)**2 &
                  - log_2pi + log(2.0_c_double)
    log_density_gradient = 0
  end function

end module
