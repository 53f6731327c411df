/*
 * build_id: which build this program is, as the linker noted it in the file (a note of type
 * NT_GNU_BUILD_ID). The version and the lines about crashes show it: it finds the debug symbols.
 */
#pragma once

/* In hexadecimal; "unknown" if the linker noted none. Good until the process ends. */
const char *build_id(void);
