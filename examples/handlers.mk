# What the examples need beside h2d's own libraries: kv.c, where there is SQLite (Debian: libsqlite3-dev).
HANDLERS_LIBS += $(shell pkg-config --silence-errors --libs sqlite3)
