#!/bin/sh
# Fetches the embedded ClickHouse (libchdb.so) that `slicemeter serve` runs as a child, and prints
# where it lies. Run it again at any time: an installed and intact library is left alone.
#
# SLICEMETER_ENGINE_DIR  where to keep it (default: ${XDG_CACHE_HOME:-$HOME/.cache}/slicemeter/engine)
#
# Needs: npm (it fetches the package from the registry the machine is configured for), tar, sha512sum.
set -eu

package='@chdb/lib-linux-x64-gnu'
version='26.7.3-stable.1'
# Pinned, so that neither the registry nor the network can hand us another engine. As npm writes it:
# sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==
package_sha512='5cff7b98caa7739b59a4a432c11f0dedc2d3b073624e61ebdf4a42e66ce8de35a6ba48ca9f62016bad1cd81fe059435cb858ce3235a8a2b408082a81563e70a7'
library_sha512='0a5e6af5cf57034116d34a39480989a160dd105f372d85aa748f8d2b0a5ebd52a90d913737d7ae86f6f597d37fe06d3a4d22125c13c5aa961d91aa93d034751e'

directory="${SLICEMETER_ENGINE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/slicemeter/engine}/$version"
library="$directory/libchdb.so"

fail() {
    echo "install-engine: $*" >&2
    exit 1
}

matches() { # FILE SHA512
    printf '%s  %s\n' "$2" "$1" | sha512sum --check --status 2>/dev/null
}

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    fail "the engine is built for Linux on x86_64 only; elsewhere point slicemeter at a ClickHouse server"

if [ -f "$library" ] && matches "$library" "$library_sha512"; then
    echo "$library"
    exit 0
fi

command -v npm >/dev/null || fail "npm is missing: install Node.js (Debian: apt-get install nodejs npm)"
mkdir -p "$directory"
# Unpacked beside its target and renamed into place: an interrupted run leaves no half library behind.
work=$(mktemp -d "$directory/unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM

(cd "$work" && npm pack --silent "$package@$version" >/dev/null) ||
    fail "npm pack $package@$version failed: check the network and the npm registry"
archive=$(echo "$work"/*.tgz)
matches "$archive" "$package_sha512" || fail "$package@$version does not match its pinned sha512; nothing was installed"
tar -xzf "$archive" -C "$work" package/libchdb.so
matches "$work/package/libchdb.so" "$library_sha512" || fail "libchdb.so does not match its pinned sha512; nothing was installed"
chmod 0644 "$work/package/libchdb.so"
mv -f "$work/package/libchdb.so" "$library"
echo "$library"
