#!/bin/sh
# Compiles the Rust half into src/libprovi_r.a. `R CMD INSTALL` calls it, in the folder src.
#
# Sources, the first that is there:
#   $PROVI_SOURCE        the root of a clone of provi
#   ../..                the clone in which this package lies
#   bundle.tar.xz        all sources and their dependencies, made by tools/bundle.sh: needs no network
# $PROVI_PROFILE is the profile of cargo (default: release), $CARGO_TARGET_DIR where it compiles.
set -eu

PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
if ! command -v cargo >/dev/null 2>&1; then
  echo "provi is written in Rust, and there is no cargo here: install Rust 1.89 or later from https://rustup.rs," >&2
  echo "or on Debian with 'apt-get install cargo' where that is new enough" >&2
  exit 1
fi

offline=
if [ -n "${PROVI_SOURCE:-}" ]; then
  root="$PROVI_SOURCE"
elif [ -f bundle.tar.xz ]; then
  mkdir -p bundle
  [ -f bundle/Cargo.toml ] || tar -xJf bundle.tar.xz -C bundle
  root=$(pwd)/bundle
  offline=--offline
elif [ -f ../../Cargo.toml ] && grep -q '^\[workspace\]' ../../Cargo.toml; then
  root=$(cd ../.. && pwd)
else
  echo "the Rust sources of provi are not here: install from a clone (R CMD INSTALL r), from a package that contains them" >&2
  echo "(sh r/tools/bundle.sh, then R CMD build r), or set PROVI_SOURCE to the root of a clone" >&2
  exit 1
fi

profile="${PROVI_PROFILE:-release}"
folder="$profile"
[ "$profile" = dev ] && folder=debug
here=$(pwd)
target="${CARGO_TARGET_DIR:-$root/target}"
if [ "${R_INCLUDE_DIR:-}" = "" ]; then
  R_INCLUDE_DIR=$("${R_HOME:?}/bin/Rscript" -e 'cat(R.home("include"))')
fi
export R_INCLUDE_DIR

cd "$root"
cargo rustc $offline --locked --quiet --package provi-r --lib --crate-type staticlib --profile "$profile" --target-dir "$target"
cp "$target/$folder/libprovi_r.a" "$here/libprovi_r.a"
if [ -n "$offline" ]; then
  # What was unpacked would otherwise stay in the package's folder.
  [ -n "${CARGO_TARGET_DIR:-}" ] || rm -rf "$target"
  rm -rf "$here/bundle"
fi
