#!/bin/sh
# Puts the Rust sources and all their dependencies into src/bundle.tar.xz, so that `R CMD build` makes a package that installs without a
# network and without a clone: sh r/tools/bundle.sh, then R CMD build r.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What the package is made of; tests, benches and what only they need stay behind.
crates="provi provi-analysis provi-ffi provi-kernels provi-report provi-table"
strip='/^\[/ { keep = ($0 !~ /^\[\[(test|bench|example)\]\]/ && $0 !~ /dev-dependencies/) } keep'

mkdir -p "$work/crates" "$work/r/src/rust" "$work/.cargo"
for crate in $crates; do
  mkdir "$work/crates/$crate"
  (cd "$root/crates/$crate" && tar -cf - --exclude=tests --exclude=benches --exclude=examples --exclude=target .) |
    tar -xf - -C "$work/crates/$crate"
  awk "BEGIN { keep = 1 } $strip" "$root/crates/$crate/Cargo.toml" >"$work/crates/$crate/Cargo.toml"
done
cp -r "$root/r/src/rust/Cargo.toml" "$root/r/src/rust/src" "$work/r/src/rust/"
cp "$root/Cargo.lock" "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$work/"
sed -e 's|^members = .*|members = ["crates/*", "r/src/rust"]|' -e '/^exclude = /d' -e '/^default-members = /d' "$root/Cargo.toml" >"$work/Cargo.toml"

cd "$work"
cargo vendor --quiet vendor >.cargo/config.toml
tar -cJf "$root/r/src/bundle.tar.xz" .
ls -l "$root/r/src/bundle.tar.xz"
