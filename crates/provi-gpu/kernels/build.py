"""Compiles the kernels to PTX with NVRTC, for cards of compute capability 8.0 and 9.0 and their successors.

    python3 build.py [folder of libnvrtc.so.*]

Needs NVRTC alone, neither a toolkit nor a card: `pip download --no-deps nvidia-cuda-nvrtc-cu11==11.8.89`, unzipped. That
version's PTX runs on every driver for CUDA 11.8 or later. Every file starts with the hash of the sources, which a test
compares.
"""

import ctypes
import glob
import gzip
import hashlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ["functions.cuh", "provi.cu"]
FAMILIES = ["logistic", "logistic_weighted", "binomial", "probit", "poisson", "gamma", "cloglog", "gaussian"]
CAPABILITIES = [80, 90]


def nvrtc(folder):
    for library in sorted(glob.glob(os.path.join(folder, "libnvrtc-builtins.so*"))):
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    libraries = [path for path in sorted(glob.glob(os.path.join(folder, "libnvrtc.so*"))) if "alt" not in path]
    return ctypes.CDLL(libraries[0])


def compile_ptx(library, source, header, options):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    bodies, names = (ctypes.c_char_p * 1)(header), (ctypes.c_char_p * 1)(b"functions.cuh")
    if library.nvrtcCreateProgram(ctypes.byref(program), source, b"provi.cu", 1, bodies, names):
        raise SystemExit("nvrtcCreateProgram failed")
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    failed = library.nvrtcCompileProgram(program, len(options), words)
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    if failed or log.value.strip():
        print(log.value.decode(), file=sys.stderr)
    if failed:
        raise SystemExit("the kernels do not compile")
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, ptx)
    return ptx.value


def main():
    library = nvrtc(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda/lib64")
    header, source = [open(os.path.join(HERE, name), "rb").read() for name in SOURCES]
    digest = hashlib.sha256(header + source).hexdigest()
    os.makedirs(os.path.join(HERE, "ptx"), exist_ok=True)
    for capability in CAPABILITIES:
        for family in ["common", *FAMILIES]:
            options = [f"-arch=compute_{capability}", "-std=c++14", "-fmad=false"]
            if family != "common":
                options.append(f"-DFAMILY={family.upper()}")
            ptx = compile_ptx(library, source, header, options)
            path = os.path.join(HERE, "ptx", f"{family}_{capability}.ptx.gz")
            with open(path, "wb") as file:
                file.write(gzip.compress(f"// sources: {digest}\n".encode() + ptx, 9, mtime=0))
            print(os.path.basename(path), len(ptx), os.path.getsize(path))


if __name__ == "__main__":
    main()
