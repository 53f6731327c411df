/*
 * status_page: GET /status on admin listeners: constant text around what status_html writes.
 * Without scripts the page is that snapshot, and says so; it does not reload itself, for that would
 * take a reader's place and selection away. With scripts /status/events replaces what is in the
 * elements that have an id. A change of style or script changes its hash in the policy, which
 * tests/system/test_49_status.py computes.
 */
#include "board/status_page.h"

#include "board/status_html.h"
#include "http/page.h"

static const char style[] =
	":root{--up:#1a7f4b;--warn:#8a5a00;--bad:#b3261e;--spark:#0b57b8;"
	"--area:#0b57b81f}\n"
	"@media(prefers-color-scheme:dark){:root{--up:#5bd08f;--warn:#f0b649;"
	"--bad:#ff8a80;--spark:#8ab8f5;--area:#8ab8f52e}}\n"
	"main{max-width:66rem;padding-top:1.75rem}\n"
	"header{display:flex;flex-wrap:wrap;gap:.25rem .9rem;align-items:center;"
	"max-width:66rem;margin:0 auto;padding:1.75rem 1.25rem 0}\n"
	"header+main{padding-top:0}\n"
	"header h1{margin:0;font-size:1.4rem;letter-spacing:-.01em}\n"
	"#state{display:inline-flex;align-items:center;gap:.45rem;margin:0 0 0 auto;"
	"color:var(--dim);font-size:.875rem}\n"
	"#state::before{content:\"\";width:.6rem;height:.6rem;border-radius:50%;"
	"background:var(--dim)}\n"
	"[data-state=live] #state::before{background:var(--up)}\n"
	"[data-state=lost] #state::before{background:var(--bad)}\n"
	"[data-state=lost] main{opacity:.55}\n"
	"@media(prefers-reduced-motion:no-preference){"
	"[data-state=live] #state::before{animation:beat 2s ease-in-out infinite}"
	"@keyframes beat{50%{opacity:.35}}main{transition:opacity .3s}}\n"
	"button{font:inherit;font-size:.875rem;padding:.3rem .85rem;color:inherit;"
	"background:var(--row);border:1px solid var(--line);border-radius:.5rem;"
	"cursor:pointer}\n"
	"button:hover{border-color:var(--dim)}\n"
	":focus-visible{outline:2px solid var(--link);outline-offset:2px}\n"
	"a{color:var(--link)}\n"
	"h2{margin:0 0 .6rem;font-size:1rem;font-weight:600}\n"
	"section{margin-top:2rem;min-width:0}\n"
	"dl,dd{margin:0}\n"
	".tiles .more{font-size:.875rem;font-weight:400;letter-spacing:0;"
	"color:var(--dim)}\n"
	"data,time,table,.spark{font-variant-numeric:tabular-nums}\n"
	".stamp{margin:.15rem 0 1.25rem;color:var(--dim);font-size:.875rem}\n"
	".tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:.75rem}\n"
	".tiles>div{padding:.85rem 1rem .9rem;background:var(--row);"
	"border:1px solid var(--line);border-radius:.75rem;min-width:0}\n"
	".tiles dt{color:var(--dim);font-size:.875rem}\n"
	".tiles dd{font-size:1.5rem;line-height:1.25;font-weight:600;"
	"letter-spacing:-.01em}\n"
	".tiles .wide{grid-column:span 4;display:grid;"
	"grid-template-columns:auto 1fr;column-gap:2rem}\n"
	".wide dt,.wide #rate{grid-column:1}\n"
	".wide #rate{font-size:2.5rem}\n"
	".tiles .spark{grid-column:2;grid-row:1/3;font-size:.8rem;font-weight:400;"
	"letter-spacing:0;text-align:right;color:var(--dim)}\n"
	".spark svg{display:block;width:100%;height:4rem;overflow:visible}\n"
	".area{fill:var(--area)}\n"
	".line{fill:none;stroke:var(--spark);stroke-width:2;stroke-linejoin:round;"
	"vector-effect:non-scaling-stroke}\n"
	".scroll{overflow:auto;max-height:34rem}\n"
	".scroll thead th{position:sticky;top:0;background:var(--page)}\n"
	"table{width:100%;border-collapse:collapse}\n"
	"th,td{padding:.45rem .75rem;text-align:right;white-space:nowrap;"
	"border-bottom:1px solid var(--line)}\n"
	"th:first-child,td:first-child{padding-left:0}\n"
	"th:last-child,td:last-child{padding-right:0}\n"
	"thead th{color:var(--dim);font-size:.875rem;font-weight:500}\n"
	"tbody th{font-weight:600}\n"
	"th:nth-child(1),th:nth-child(2),td:nth-child(2){text-align:left}\n"
	".texts th,.texts td{text-align:left}\n"
	".up{color:var(--up)}.drain,.boot,.warn{color:var(--warn)}"
	".unknown,.error,.alert,.bad{color:var(--bad)}\n"
	".columns{display:grid;grid-template-columns:repeat(3,1fr);column-gap:3rem}\n"
	".columns dl>div{display:flex;justify-content:space-between;gap:1rem;"
	"padding:.3rem 0;border-bottom:1px solid var(--line)}\n"
	".columns dt{color:var(--dim)}\n"
	".columns dd{text-align:right}\n"
	"ol{margin:0;padding:0;list-style:none}\n"
	"li{display:grid;grid-template-columns:6.5rem 4.5rem 1fr;gap:0 .75rem;"
	"padding:.5rem 0;border-bottom:1px solid var(--line);font-size:.875rem}\n"
	"li time,li .who,.none{color:var(--dim)}\n"
	"li time{line-height:1.4;grid-row:1/3}\n"
	"li b{display:block;font-weight:500;color:var(--text)}\n"
	"li .warn,li .error,li .alert{font-weight:600}\n"
	"li p{grid-column:2/-1;margin:0;overflow-wrap:anywhere;unicode-bidi:isolate}\n"
	"li.none{display:block}\n"
	"footer{margin:2rem 0 1rem;color:var(--dim);font-size:.875rem}\n"
	"@media(max-width:56rem){.columns{grid-template-columns:1fr 1fr}}\n"
	"@media(max-width:40rem){.tiles{grid-template-columns:1fr 1fr}"
	".tiles .wide{grid-column:span 2;grid-template-columns:1fr}"
	".tiles .spark{grid-column:1;grid-row:auto;margin-top:.5rem}"
	".columns{grid-template-columns:1fr}"
	"main{padding-bottom:1.25rem}th,td{padding:.45rem .4rem}li{grid-template-columns:4.5rem "
	"1fr}"
	"li time{grid-column:1/-1;grid-row:auto}li b{display:inline}"
	"li p{grid-column:1/-1}}\n"
	"@media(forced-colors:active){.line{stroke:CanvasText}}\n";

/*
 * One event has all the page shows: what differs is replaced, unless the reader has selected some
 * of it. A page that nobody sees asks for nothing.
 */
static const char script[] =
	"'use strict';(()=>{"
	"const $=id=>document.getElementById(id),root=document.documentElement,"
	"state=$('state'),button=$('pause');"
	"let source=null,paused=false,late=0;"
	"const say=(name,text)=>{root.dataset.state=name;"
	"if(state.textContent!==text)state.textContent=text};"
	"const lost=()=>say('lost','No answer since '+$('stamp').innerText+"
	"', trying again');"
	"const held=part=>{const s=getSelection();"
	"return!s.isCollapsed&&s.containsNode(part,true)};"
	"const show=html=>{const fresh=document.createElement('template');"
	"fresh.innerHTML=html;"
	"for(const part of fresh.content.querySelectorAll('[id]')){"
	"const old=$(part.id);"
	"if(old&&old.innerHTML!==part.innerHTML&&!held(old))"
	"old.replaceChildren(...part.childNodes)}};"
	"const stop=()=>{clearTimeout(late);if(source)source.close();source=null};"
	"const start=()=>{stop();source=new EventSource('/status/events');"
	"source.onmessage=e=>{clearTimeout(late);late=setTimeout(lost,5000);"
	"show(e.data);say('live','Live')};"
	"source.onerror=()=>{if(source.readyState===2)late=setTimeout(start,2000);"
	"lost()}};"
	"const look=()=>{if(paused||document.hidden)stop();else start()};"
	"button.onclick=()=>{paused=!paused;"
	"button.textContent=paused?'Go on':'Pause';"
	"if(paused)say('paused','Paused');look()};"
	"document.addEventListener('visibilitychange',look);"
	"button.hidden=false;look()})()";

static const struct slice policy = SLICE_LIT(
	"default-src 'none'; img-src data:; "
	"style-src 'sha256-uDPsxug/kg12YBBpy+BnzXFW5vnGkkPOyV90y4j7RtA=' "
	"'sha256-BXsqmU2bUbCcl36NYakT1sh2iNrub2YzJ8AzVaQSvjA='; "
	"script-src 'sha256-7wyQ0CIUqrN7krX/LquZHA8FtENWgQhYjAeuoL3iNo8='; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'");

void status_page_begin(struct strbuf *t, const char *title)
{
	strbuf_printf(t, "%sh2d: %s</title>\n<style>%s</style>\n</head>\n<body>\n", page_head,
		title, style);
}

void status_page_reply(struct h2d_req *req, struct strbuf *t)
{
	strbuf_add(t, SLICE("</body>\n</html>\n"));
	reply_add(req, SLICE("content-security-policy"), policy);
	admin_reply(req, "text/html; charset=utf-8", t);
}

static void write_page(struct h2d_req *req, struct strbuf *t)
{
	status_page_begin(t, "status");
	strbuf_add(t, SLICE("<header><h1>h2d</h1><p id=state role=status>As it was when it was "
			    "asked for</p><button id=pause type=button hidden>Pause</button>"
			    "</header>\n<main>\n"));
	status_html(req->env->admin->board, t);
	strbuf_add(t, SLICE("\n<footer>For programs: <a href=\"/status.json\">/status.json</a>"
			    "</footer>\n</main>\n"));
	strbuf_printf(t, "<script>%s</script>\n", script);
}

static void start(struct h2d_req *req, void *state)
{
	struct strbuf t = { 0 };

	(void)state;
	write_page(req, &t);
	status_page_reply(req, &t);
}

const struct h2d_handler h2d_handler_status_page = {
	.name = "status_page",
	.scope = H2D_ON_ADMIN,
	.start = start,
};
