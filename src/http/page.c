/*
 * page: constant text. Read by reply.c for errors and by the listings; a change of a style changes
 * its hash in page_policy, which tests/system/test_48_pages.py computes. The icon is an empty one:
 * browsers would ask for /favicon.ico, which the policy forbids and few sites have, and complain in
 * either case.
 */
#include "http/page.h"

const char page_head[] =
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<link rel=\"icon\" href=\"data:,\">\n"
	"<style>"
	":root{color-scheme:light dark;--text:#1d2126;--dim:#5f6771;--page:#fff;"
	"--line:#e3e6ea;--link:#0b57b8;--row:#f4f6f9}\n"
	"@media(prefers-color-scheme:dark){:root{--text:#e4e6e9;--dim:#98a1ab;"
	"--page:#15181c;--line:#2b3036;--link:#8ab8f5;--row:#1d2126}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--page);color:var(--text);"
	"font:1rem/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",sans-ser"
	"if}\n"
	"main{max-width:58rem;margin:0 auto;padding:2.5rem 1.25rem}\n"
	"h1{margin:0 .75rem 1.5rem;font-size:1.3rem;font-weight:600;"
	"overflow-wrap:anywhere}\n"
	".why{margin:0 .75rem;color:var(--dim)}\n"
	"</style>\n<title>";

const char page_list_style[] =
	"<style>"
	"a{color:var(--link);text-decoration:none}\n"
	"a:hover{text-decoration:underline}\n"
	"table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.4rem .75rem;text-align:right;vertical-align:baseline;"
	"white-space:nowrap;color:var(--dim);border-bottom:1px solid var(--line)}\n"
	"th{font-size:.875rem;font-weight:500}\n"
	"th a{color:inherit}\n"
	"th[aria-sort]{color:var(--text)}\n"
	"th:first-child,td:first-child{width:100%;text-align:left;white-space:normal;"
	"overflow-wrap:anywhere}\n"
	"tbody tr:hover{background:var(--row)}\n"
	".d{font-weight:600}\n"
	"p{margin:1.25rem .75rem 0;font-size:.875rem;color:var(--dim)}\n"
	"pre{margin:1.5rem .75rem 0;padding:1rem;background:var(--row);"
	"white-space:pre-wrap;overflow-wrap:anywhere;font-size:.875rem}\n"
	"@media(max-width:40rem){main{padding:1.25rem 0}h1,p{margin-left:1rem;"
	"margin-right:1rem}tr{display:grid;grid-template-columns:1fr auto;"
	"border-bottom:1px solid var(--line);padding:.5rem 1rem}th,td{padding:0;"
	"border:0}td:nth-child(n+2){font-size:.875rem}thead tr{"
	"grid-template-columns:1fr auto auto;column-gap:1.25rem}tbody td:first-child{"
	"grid-column:1/-1}td:nth-child(2){text-align:left}}\n"
	"</style>\n";

const struct slice page_policy =
	SLICE_LIT("default-src 'none'; img-src data:; "
		  "style-src 'sha256-uDPsxug/kg12YBBpy+BnzXFW5vnGkkPOyV90y4j7RtA=' "
		  "'sha256-h5yzwoiNocME98edC1V9dn2xnjG4dAjM1tfMJZnek4U='; "
		  "base-uri 'none'; form-action 'none'; frame-ancestors 'self'");
