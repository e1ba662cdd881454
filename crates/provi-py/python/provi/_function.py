"""Compiled functions, called without the interpreter's lock."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


class CFunction:
    """A C function as a log density::

        int f(size_t n, size_t d, const double *z, double *logp, double *grad, void *user);

    ``z`` and ``grad`` hold n points of d numbers, one after the other; a result other than 0 is a failure. ``function``
    is its address, or a pointer of ctypes, cffi or numba; ``user`` is an address, a ctypes object, or a numpy array, and is
    passed on unchanged.

    Calls come one at a time, whatever thread a fit runs on, and however many fits there are: all C functions and
    libraries share one turn, and from inside a call none of them is called again. With ``thread_safe=True`` it is called from
    several threads at once, and may itself call anything.

    >>> import ctypes, provi
    >>> signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t,
    ...     *[ctypes.POINTER(ctypes.c_double)] * 3, ctypes.c_void_p)
    >>> @signature
    ... def normal(n, d, z, logp, grad, user):
    ...     for k in range(n):
    ...         logp[k] = -0.5 * z[k] ** 2
    ...         grad[k] = -z[k]
    ...     return 0
    >>> fit = provi.fit(provi.CFunction(normal), 1, progress=False)
    >>> round(float(fit.sd[0]), 6)
    1.0
    """

    __slots__ = ("_keep", "address", "thread_safe", "user")

    def __init__(self, function: Any, user: Any = None, *, thread_safe: bool = False) -> None:
        if isinstance(function, np.ndarray) or _is_data(function):
            raise TypeError(f"function is a {type(function).__name__}, which holds data; give the address of a function")
        self.address = _address(function, "function")
        self.user = 0 if user is None else _address(user, "user")
        self.thread_safe = bool(thread_safe)
        self._keep = (function, user)

    def __reduce__(self) -> Any:
        raise TypeError("a C function is an address in this process, which cannot be pickled or copied to another")

    def __repr__(self) -> str:
        return f"CFunction({self.address:#x}, user={self.user:#x}, thread_safe={self.thread_safe})"


def _is_data(what: Any) -> bool:
    return isinstance(what, (ctypes.Structure, ctypes.Union, ctypes.Array)) or (
        isinstance(what, ctypes._SimpleCData) and not isinstance(what, ctypes.c_void_p)  # noqa: SLF001
    )


def _address(what: Any, name: str) -> int:
    if isinstance(what, (int, np.integer)) and not isinstance(what, bool):
        if not 0 <= what < 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)):
            raise ValueError(f"{name} = {what} is no address")
        return int(what)
    if isinstance(what, np.ndarray):
        return int(what.ctypes.data)
    address = getattr(what, "address", None)  # numba
    if isinstance(address, int) and not isinstance(address, bool):
        return _address(address, name)
    if isinstance(what, (ctypes._Pointer, ctypes._CFuncPtr, ctypes.c_void_p)):  # noqa: SLF001
        return ctypes.cast(what, ctypes.c_void_p).value or 0
    if _is_data(what):
        return ctypes.addressof(what)
    if type(what).__module__ in ("_cffi_backend", "cffi"):
        import cffi

        return int(cffi.FFI().cast("uintptr_t", what))
    raise TypeError(f"{name} is a {type(what).__name__}, expected an address or a pointer of ctypes, cffi or numba")
