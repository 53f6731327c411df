/*
 * ebpf: programs and maps of the kernel's eBPF by bpf(2) itself. What calls it assembles its
 * instructions by the macros here, one line each with the C that it means. Only the master calls
 * it, while it has the right (CAP_BPF and CAP_NET_ADMIN, or CAP_SYS_ADMIN).
 */
#ifndef H2D_NET_EBPF_H
#define H2D_NET_EBPF_H

#include <linux/bpf.h>

/* One instruction each. off: of memory, or how many instructions a jump skips. */
#define EBPF_INSN(code_, dst, src, off_, imm_) \
	((struct bpf_insn){ .code = (code_), \
		.dst_reg = (dst), \
		.src_reg = (src), \
		.off = (off_), \
		.imm = (imm_) })
#define EBPF_MOV(dst, src) EBPF_INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define EBPF_MOV_K(dst, k) EBPF_INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, k)
#define EBPF_EXIT()        EBPF_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* A program for SO_ATTACH_REUSEPORT_EBPF that also chooses for what is queued on a socket that is
 * closed. Its descriptor, or -errno. */
int ebpf_load_reuseport(const struct bpf_insn *insns, unsigned n);

#endif
