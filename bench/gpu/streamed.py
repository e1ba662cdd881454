"""A table read block by block from Parquet, fitted and certified with a card, beside the speed of the disk.

    python3 streamed.py PROVI_GPU_CHECK PROVI FOLDER ROWSxCOLUMNS [--device cuda:0] [--memory 8GiB] [--audit-draws 4096] [--max-seconds 300]

Writes the files unless they are there, reads them once by itself (from the disk where the system's cache can be emptied, and from the cache), and
runs `provi fit`. What the process has read in all comes from the system's count of it.
"""

import glob
import os
import subprocess
import sys
import time


def read_once(paths):
    """The files by sixteen processes of `cat`."""
    start = time.perf_counter()
    running = [subprocess.Popen(["cat", path], stdout=subprocess.DEVNULL) for path in paths]
    for one in running:
        one.wait()
    return time.perf_counter() - start


def emptied():
    """Whether the system's cache of files was emptied."""
    try:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("3")
        return True
    except OSError:
        return False


def has_read(process):
    try:
        lines = open(f"/proc/{process.pid}/io").read().split("\n")
        return int(dict(line.split(": ") for line in lines if line)["rchar"])
    except (OSError, KeyError):
        return 0


def main():
    check, provi, folder, size, *options = sys.argv[1:]
    start = time.perf_counter()
    paths = sorted(glob.glob(f"{folder}/*.parquet"))
    if not paths:
        subprocess.run([check, "--write", size, "--into", folder], check=True)
        paths = sorted(glob.glob(f"{folder}/*.parquet"))
    total = sum(os.path.getsize(path) for path in paths)
    print(f"{size}: {total / 1e9:.1f} GB in {len(paths)} files, written in {time.perf_counter() - start:.0f} s", flush=True)
    if emptied():
        seconds = read_once(paths)
        print(f"read once from the disk: {seconds:.1f} s, {total / seconds / 1e9:.2f} GB/s", flush=True)
    seconds = read_once(paths)
    print(f"read once, as the system has them now: {seconds:.1f} s, {total / seconds / 1e9:.2f} GB/s", flush=True)
    command = [provi, "fit", f"{folder}/*.parquet", "y ~ .", *options]
    print(" ".join(command), flush=True)
    start, read = time.perf_counter(), 0
    process = subprocess.Popen(command)
    while process.poll() is None:
        read = max(read, has_read(process))
        time.sleep(0.2)
    seconds = time.perf_counter() - start
    rate, passes = read / seconds / 1e9, read / total
    print(f"status {process.returncode}: {seconds:.1f} s, {read / 1e9:.1f} GB read, {rate:.2f} GB/s, {passes:.1f} times the files", flush=True)


if __name__ == "__main__":
    main()
