/*
 * ebpf: programs and maps of the kernel's eBPF by bpf(2) itself, and an assembler of
 * short programs. Only the master calls it, while it has the right: CAP_BPF and
 * CAP_NET_ADMIN, or CAP_SYS_ADMIN.
 */
#ifndef H2D_NET_EBPF_H
#define H2D_NET_EBPF_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* A program that is being written. Its writer says in C what the instructions do. */
struct ebpf {
	struct bpf_insn *insns;
	unsigned n, max; /* how many there are, and have room */
};

/* dst op= src; op: BPF_MOV, BPF_ADD and the like. The 32 of a name is its width, else it is 64. */
void ebpf_alu(struct ebpf *p, int op, int dst, int src);
void ebpf_alu_k(struct ebpf *p, int op, int dst, int k);
void ebpf_alu32(struct ebpf *p, int op, int dst, int src);
void ebpf_alu32_k(struct ebpf *p, int op, int dst, int k);

/* Memory; width: BPF_B of 8 bits, BPF_W of 32, BPF_DW of 64. dst = *(src + off) */
void ebpf_read(struct ebpf *p, int width, int dst, int src, int off);
/* The same of 32 bits, and *(dst + off) = src */
void ebpf_load(struct ebpf *p, int dst, int src, int off);
void ebpf_store(struct ebpf *p, int dst, int off, int src);
/* The same atomically: *(dst + off) += src; if it is r0 it becomes src, r0 = what it was */
void ebpf_atomic_add(struct ebpf *p, int dst, int off, int src);
void ebpf_atomic_swap(struct ebpf *p, int dst, int off, int src);

/* dst = this map, as helpers want it; dst = the value of this map, which has one */
void ebpf_map(struct ebpf *p, int dst, int map_fd);
void ebpf_map_value(struct ebpf *p, int dst, int map_fd);
/* r0 = helper(r1, …), one of BPF_FUNC_… */
void ebpf_call(struct ebpf *p, int helper);
void ebpf_exit(struct ebpf *p);

/*
 * if (dst op …) goto …; op: BPF_JEQ and the like. The answer is for ebpf_land(), which says that
 * the jump goes to the next instruction, or ebpf_land_at(): to the one that was the at-th.
 */
unsigned ebpf_jump(struct ebpf *p, int op, int dst, int src);
unsigned ebpf_jump32(struct ebpf *p, int op, int dst, int src);
unsigned ebpf_jump_k(struct ebpf *p, int op, int dst, int k);
void ebpf_land(struct ebpf *p, unsigned jump);
void ebpf_land_at(struct ebpf *p, unsigned jump, unsigned at);

/* Whether bpf(2) may be called at all: 0, or -EPERM. A seccomp filter may make it deadly. */
int ebpf_allowed(void);

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
