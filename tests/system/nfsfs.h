/*
 * nfsfs: what the two halves of this file system share: the server with what its clients know of it
 * (nfsfs_client.c), and the calls of the kernel (nfsfs.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { NAME = 256 };

struct switches {
#define SWITCH(name, help) bool name;
#include "nfsfs.def"
#undef SWITCH
};

/* A file as the server has it. */
struct file {
	struct file *next;
	int fd; /* O_PATH: its handle */
	dev_t dev;
	ino_t ino;
	unsigned long change; /* counted for directories: what a client compares */
	int opens;            /* by all machines */
};

struct extent {
	struct extent *next;
	off_t at;
	size_t n;
	char bytes[];
};

/* A file as one machine knows it; a dentry below. */
struct node {
	struct node *next;
	struct file *file;
	struct node *parent;
	char name[NAME]; /* by which it was found last */
	struct stat st;  /* cached */
	unsigned long age, change;
	struct extent *dirty;
	int opens;
	char silly[NAME]; /* its name since it was removed here while it was open */
	struct node *silly_dir;
	struct dentry *names;
	char **listing;
	unsigned long listing_change;
};

struct dentry {
	struct dentry *next;
	char name[NAME];
	struct node *node; /* NULL: there is none */
	unsigned long change;
};

struct handle {
	int fd, flags;
};

extern struct switches sw;
extern unsigned long age; /* what was learnt before it changed last is believed no more */

/* --- the server ------------------------------------------------------------------------------- */

/* The file that fd has open, which becomes the server's. */
struct file *file_of(int fd);
/* A descriptor for its content; -1 with errno. */
int reopen(const struct file *f, int flags);
/* 0, or an errno. */
int take_lock(const struct handle *h, struct file *f, int type, off_t from, off_t to);
/* h NULL: all of them. */
void drop_locks(const struct handle *h, const struct file *f, off_t from, off_t to);

/* --- what a machine knows; *nodes are all that it knows of -------------------------------------
 */

struct node *node_of(struct node **nodes, struct file *f);
/* Asks the server for its attributes. */
void ask(struct node *n);
/* Its attributes as the machine believes them; until the next call. */
struct stat *known(struct node *n);
/* Gives the server what was written. */
void flush(struct node *n);
struct dentry *dentry_of(struct node *dir, const char *name);
/* From now on the machine believes that the name is n's; NULL: nobody's. */
void learn(struct node *dir, const char *name, struct node *n);
/* The machine has changed a name in it. */
void changed(struct node *dir);
/* What the server has by that name; NULL with errno. */
struct node *find(struct node **nodes, struct node *dir, const char *name);
