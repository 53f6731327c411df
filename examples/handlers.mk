# What the examples need beside h2d's own libraries: kv.c, where there is SQLite (Debian: libsqlite3-dev), and gzip.c,
# where there is zlib (zlib1g-dev).
HANDLERS_LIBS += $(shell pkg-config --silence-errors --libs sqlite3; pkg-config --silence-errors --libs zlib)
