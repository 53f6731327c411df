# What json.c needs beside h2d's own libraries: libjansson-dev, libbrotli-dev and zlib1g-dev in Debian.
HANDLERS_LIBS += $(shell pkg-config --silence-errors --libs jansson libbrotlienc zlib)
# Of a benchmark's entry nobody edits a handler, so nobody waits for the link: configure with --enable-lto.
