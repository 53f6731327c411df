/*
 * listing_form: constant text around one URL. A change of the style or the script changes its hash
 * in the policy, which tests/system/test_62_upload_people.py computes.
 */
#include "files/listing_form.h"

#include "http/path.h"
#include "request/req_client.h"
#include "share/access.h"

static const char style[] =
	"form{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;"
	"margin:0 .75rem 1.5rem;padding:1rem;border:1px dashed var(--dim);"
	"border-radius:.5rem}\n"
	"form.over{border-color:var(--link);background:var(--row)}\n"
	"label{font-weight:500}\n"
	"input{flex:1 1 12rem;min-width:0;font:inherit;font-size:.875rem;color:inherit}\n"
	"input::file-selector-button,button{font:inherit;font-size:.875rem;"
	"padding:.35rem .85rem;color:inherit;background:var(--row);"
	"border:1px solid var(--dim);border-radius:.5rem;cursor:pointer}\n"
	"input::file-selector-button{margin-right:.75rem}\n"
	":focus-visible{outline:2px solid var(--link);outline-offset:2px}\n"
	"form p{flex:1 1 100%;margin:0}\n"
	"form ul{flex:1 1 100%;margin:0;padding:0;list-style:none;font-size:.875rem}\n"
	"form p:empty,form ul:empty{display:none}\n"
	"li{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.15rem 1rem;"
	"padding:.4rem 0;"
	"border-top:1px solid var(--line)}\n"
	"li bdi{overflow-wrap:anywhere}\n"
	"li span{color:var(--dim)}\n"
	"progress{flex:1 1 100%;height:.4rem;accent-color:var(--link)}\n"
	".bad span{color:var(--bad)}\n"
	":root{--bad:#b3261e}\n"
	"@media(prefers-color-scheme:dark){:root{--bad:#ff8a80}}\n"
	"@media(max-width:40rem){form{margin:0 1rem 1.25rem}}\n";

/*
 * Files are sent one behind the other, each in a form of its own, so that one that is refused stops
 * no other; but what is refused for its password is refused for all. At the end the table is as a
 * new look at the folder would show it.
 */
static const char script[] =
	"'use strict';(()=>{"
	"const form=document.forms[0],input=form.elements.file,said=form.querySelector('p'),"
	"list=form.querySelector('ul'),queue=[];"
	"let busy=false,stored=0,failed=0;"
	"const parse=text=>new DOMParser().parseFromString(text,'text/html');"
	"const add=files=>{if(!busy)list.replaceChildren();"
	"for(const file of files){"
	"const item=document.createElement('li'),name=document.createElement('bdi'),"
	"end=document.createElement('span'),bar=document.createElement('progress');"
	"name.textContent=file.name;end.textContent='waits';"
	"bar.max=1;bar.value=0;bar.setAttribute('aria-label',file.name);"
	"item.append(name,end,bar);list.append(item);queue.push({file,item,end,bar})}"
	"work()};"
	"const send=({file,end,bar})=>new Promise(done=>{"
	"const request=new XMLHttpRequest(),data=new FormData();"
	"data.append('file',file);"
	"request.open('POST',form.action);"
	"request.setRequestHeader('accept','application/json');"
	"request.upload.onprogress=e=>{if(e.lengthComputable){bar.value=e.loaded/e.total;"
	"end.textContent=Math.floor(100*bar.value)+' %'}};"
	"request.onloadend=()=>done(request);"
	"request.send(data)});"
	"const fail=({item,end,bar},why)=>{failed++;bar.remove();item.className='bad';"
	"end.textContent=why};"
	"const why=request=>{const page=parse(request.responseText);"
	"return(page.querySelector('.why')||page.querySelector('h1')||page.body).textContent||"
	"'it could not be sent'};"
	"const look=async()=>{const answer=await fetch(location.href);if(!answer.ok)return;"
	"const fresh=parse(await answer.text());"
	"for(const part of['table','main>p'])"
	"document.querySelector(part).replaceWith(fresh.querySelector(part))};"
	"const work=async()=>{if(busy)return;busy=true;stored=failed=0;"
	"for(let next;next=queue.shift();){"
	"said.textContent='Sending '+next.file.name;"
	"const request=await send(next);"
	"if(request.status>=200&&request.status<300){stored++;next.item.remove()}"
	"else{fail(next,why(request));"
	"if(request.status===401)while(next=queue.shift())fail(next,why(request))}}"
	"busy=false;await look().catch(()=>{});"
	"said.textContent=stored+(stored===1?' file':' files')+' stored'+"
	"(failed?', '+failed+' not':'')};"
	"form.onsubmit=e=>{e.preventDefault();add(input.files);form.reset()};"
	"const files=e=>e.dataTransfer&&e.dataTransfer.types.includes('Files');"
	"document.ondragover=e=>{if(files(e)){e.preventDefault();form.className='over'}};"
	"document.ondragleave=e=>{if(!e.relatedTarget)form.className=''};"
	"document.ondrop=e=>{form.className='';"
	"if(files(e)){e.preventDefault();add(e.dataTransfer.files)}};"
	"onbeforeunload=e=>{if(busy)e.preventDefault()};"
	"form.querySelector('label').textContent+=' (or drop them here)'})()";

const struct slice listing_form_policy = SLICE_LIT(
	"default-src 'none'; img-src data:; "
	"style-src 'sha256-uDPsxug/kg12YBBpy+BnzXFW5vnGkkPOyV90y4j7RtA=' "
	"'sha256-h5yzwoiNocME98edC1V9dn2xnjG4dAjM1tfMJZnek4U=' "
	"'sha256-t1nqc5Cqtw/CWrKMDLIyFHfQLEoW00h+16ekMIQW00g='; "
	"script-src 'sha256-Tp/ZgEpNs1r4zD8Yfsw+j09YTDMpcdqzBHSlzgoi2eE='; connect-src 'self'; "
	"base-uri 'none'; form-action 'self'; frame-ancestors 'self'");

void listing_form_write(struct slice action, struct strbuf *t)
{
	strbuf_printf(t, "<style>%s</style>\n<form method=\"post\" action=\"", style);
	strbuf_html(t, action);
	strbuf_printf(t,
		"\" enctype=\"multipart/form-data\">\n"
		"<label for=\"file\">Upload files</label>\n"
		"<input id=\"file\" name=\"file\" type=\"file\" multiple required>\n"
		"<button>Upload</button>\n<p role=\"status\"></p>\n<ul></ul>\n</form>\n"
		"<script>%s</script>\n",
		script);
}

/* --- where ------------------------------------------------------------------------------------ */

/* Whether the rules of a location may let the client in; passwords are asked for later. */
static bool lets_in(const struct h2d_req *req, const struct location *location)
{
	return !(location->refused_methods & 1u << H2D_POST) &&
	       (location->access == NULL || access_allows(location->access, req_client(req)));
}

/* As store_gate.c will see it. */
static bool may_write(const struct h2d_req *req, struct slice own, struct slice asked)
{
	const struct location *a = site_location(req->site, own),
			      *b = site_location(req->site, asked);

	return (a->writers || b->writers) && lets_in(req, a) && lets_in(req, b);
}

/* Segments of a path that begins and ends with "/". */
static unsigned segments(struct slice path)
{
	unsigned n = 0;

	for (size_t i = 1; i < path.n; i++)
		n += path.p[i] == '/';
	return n;
}

/* Whether path is the folder of uploads, or one below it, as it is listed: in the server's own
 * tree, by its own name. */
static bool is_folder(const struct h2d_req *req, struct slice path)
{
	const struct site *site = req->site;
	size_t n = site->uploads.n;

	return n > 0 && req->location->root == site->root && path.n > n && path.p[n] == '/' &&
	       slice_starts(path, site->uploads) &&
	       segments(slice_of(path.p + n, path.n - n)) <= site->upload_depth;
}

/* Where the routes have the folder: "/files", and of one below it "/files/a/". */
static struct slice public_path(struct h2d_req *req, struct slice path)
{
	struct slice below = slice_of(path.p + req->site->uploads.n, path.n - req->site->uploads.n);

	return arena_join(&req->arena, SLICE(SITE_UPLOADS_AT), below.n > 1 ? below : SLICE(""));
}

struct slice listing_form_action(struct h2d_req *req, struct slice path)
{
	static const struct slice up = SLICE_LIT("../"), nowhere;
	unsigned n = segments(path);
	struct slice to;
	char *text, *at;

	if (!is_folder(req, path))
		return nowhere;
	to = public_path(req, path);
	if (to.p == NULL || !may_write(req, path, to))
		return nowhere;
	to = path_encode(to, &req->arena);
	text = at = arena_alloc(&req->arena, n * up.n + to.n);
	if (to.p == NULL || text == NULL)
		return nowhere;
	while (n-- > 0)
		at = (char *)memcpy(at, up.p, up.n) + up.n;
	memcpy(at, to.p + 1, to.n - 1);
	return slice_of(text, (size_t)(at - text) + to.n - 1);
}
