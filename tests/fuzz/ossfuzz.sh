#!/bin/bash
# Builds every fuzz target with its corpus as OSS-Fuzz wants it: from CC, CFLAGS and LIB_FUZZING_ENGINE into OUT.
# Without these: clang's libFuzzer under ASan, into build-ossfuzz/out.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
work=${WORK:-$top/build-ossfuzz}
out=${OUT:-$work/out}
engine=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}
: "${CC:=clang}" "${CFLAGS:=-g -O1 -fsanitize=fuzzer-no-link,address}"

[ -x "$top/configure" ] || (cd "$top" && autoreconf -i)
mkdir -p "$work" "$out"
cd "$work"
"$top/configure" --disable-lto CC="$CC" CFLAGS="$CFLAGS" CPPFLAGS="-DFUZZ_ENGINE ${CPPFLAGS-}"
for source in "$top"/tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	make -s -j"$(nproc)" "tests/fuzz/$name" AM_LDFLAGS="$CFLAGS $engine"
	cp "tests/fuzz/$name" "$out/"
	python3 -m zipfile -c "$out/${name}_seed_corpus.zip" "$top/tests/fuzz/corpus/${name#fuzz_}"/*
done
