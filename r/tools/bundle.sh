#!/bin/sh
# Puts the Rust sources and all their dependencies into src/bundle.tar.xz, so that `R CMD build` makes a package that installs without a
# network and without a clone: sh r/tools/bundle.sh, then R CMD build r.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What the package is made of; tests, benches and what only they need stay behind.
crates="provi provi-analysis provi-ffi provi-gpu provi-kernels provi-report provi-table"
strip='/^\[/ { keep = ($0 !~ /^\[\[(test|bench|example)\]\]/ && $0 !~ /dev-dependencies/) } keep'

mkdir -p "$work/crates" "$work/r/src/rust" "$work/.cargo"
for crate in $crates; do
  (cd "$root" && git ls-files "crates/$crate" | grep -Ev "^crates/$crate/(tests|benches|examples)/" | tar -cf - -T -) |
    tar -xf - -C "$work"
  awk "BEGIN { keep = 1 } $strip" "$root/crates/$crate/Cargo.toml" >"$work/crates/$crate/Cargo.toml"
done
cp -r "$root/r/src/rust/Cargo.toml" "$root/r/src/rust/src" "$work/r/src/rust/"
cp "$root/Cargo.lock" "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$work/"
sed -e 's|^members = .*|members = ["crates/*", "r/src/rust"]|' -e '/^exclude = /d' -e '/^default-members = /d' "$root/Cargo.toml" >"$work/Cargo.toml"

cd "$work"
cargo vendor --quiet vendor
cat >.cargo/config.toml <<'END'
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
END
bundle="$root/r/src/bundle.tar.xz"
# Half a file would be taken for the whole one.
tar -cJf "$bundle.part" .
mv "$bundle.part" "$bundle"
ls -l "$bundle"
