/*
 * lender: asks all who hold references on memory (base/ref.h) which bytes of it they still need, so
 * that it can copy those and give the rest back. Called by what holds references (outqs, bodies),
 * all of them in one call from the loop. Nobody takes a reference meanwhile, and only who is
 * refused puts one.
 */
#ifndef H2D_BASE_LENDER_H
#define H2D_BASE_LENDER_H

#include <stddef.h>

#include "base/ref.h"

enum lender_answer {
	LENDER_OTHER,   /* it is not this lender's memory, or not in question now */
	LENDER_COPIES,  /* the bytes can be read where they are as long as the reference is held */
	LENDER_REFUSES, /* there is no room: put the reference without reading any of them */
};

struct lender {
	/* For each reference on ref once: all it is still for are n bytes from p on (0: none). */
	enum lender_answer (*needs)(struct lender *l, struct ref *ref, const void *p, size_t n);
};

#endif
