/*
 * page: constant text. Used by reply.c for errors and by the listings. The styles are files of
 * src/http/page/, which the build embeds and hashes. The icon is empty: browsers would request
 * /favicon.ico, which the policy forbids and few sites have, and log an error in either case.
 */
#include "http/page.h"

#include "src/http/page_parts.h"

const char page_head[] =
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<link rel=\"icon\" href=\"data:,\">\n"
	"<style>" PAGE_CSS "</style>\n<title>";

const char page_list_style[] = "<style>" LIST_CSS "</style>\n";

const struct slice page_policy = SLICE_LIT(
	"default-src 'none'; img-src data:; style-src " PAGE_CSS_HASH " " LIST_CSS_HASH "; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'");
