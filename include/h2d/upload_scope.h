/*
 * h2d/upload_scope.h: the scopes of h2d's own handlers for uploads. It is not installed: other
 * handlers use the scopes of h2d/handler.h.
 */
#ifndef H2D_UPLOAD_SCOPE_H
#define H2D_UPLOAD_SCOPE_H

#include "h2d/handler.h"

/* Ordinary listeners, for sites with an upload-dir. */
#define H2D_ON_UPLOADS ((enum h2d_scope)(H2D_ON_ANY + 1))

/* Ordinary listeners, for sites with uploads in subdirectories. */
#define H2D_ON_FOLDERS ((enum h2d_scope)(H2D_ON_ANY + 2))

/* Ordinary listeners, for directories of uploads with the key webdav. */
#define H2D_ON_DRIVES ((enum h2d_scope)(H2D_ON_ANY + 3))

#endif
