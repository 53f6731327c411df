/*
 * ebpf: programs and maps of the kernel's eBPF, by bpf(2) itself, for the others of net. They are
 * called while the process has the right: CAP_BPF and CAP_NET_ADMIN, or CAP_SYS_ADMIN.
 */
#ifndef H2D_NET_EBPF_H
#define H2D_NET_EBPF_H

#include <linux/bpf.h>
#include <stdint.h>

enum { EBPF_FUNCTION = 2 }; /* the type of any function */

struct ebpf {
	const struct bpf_insn *insns;
	unsigned n;
	const struct bpf_func_info *functions; /* the instructions that functions begin with */
	unsigned nfunctions;
};

/*
 * Has the kernel check and take a program for SO_ATTACH_REUSEPORT_EBPF that also chooses for what
 * is queued on a socket that is closed. Its descriptor, or -errno.
 */
int ebpf_load_reuseport(const struct ebpf *p);

/* A map with keys 0 … entries - 1. Its descriptor, or -errno. */
int ebpf_map_new(enum bpf_map_type type, uint32_t value_size, uint32_t entries, uint32_t flags);

/* 0, or -errno. */
int ebpf_map_set(int map_fd, uint32_t key, const void *value);
int ebpf_map_get(int map_fd, uint32_t key, void *value);

#endif
