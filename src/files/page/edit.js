// edit.js: for a client that may upload, renames and removes what a listing shows, and makes directories, each by one
// request: DELETE, and on a drive MOVE and MKCOL. The server decides; an answer that refuses is said in words.
'use strict';
(() => {
	const WORDS = {
		400: 'this name is not allowed', 401: 'a password is needed', 403: 'this is not allowed', 404: 'there is no such file',
		405: 'this is not allowed', 409: 'there is no such directory', 412: 'this name exists', 429: 'too many changes at once',
		507: 'the server has no room for it',
	};
	const main = document.querySelector('main'), form = document.forms[0], drive = 'drive' in form.dataset;
	const said = document.createElement('div'), bar = document.createElement('div');
	const base = form.action.replace(/\/?$/, '/');
	let editing = false;

	const button = (text, label, onclick) =>
		Object.assign(document.createElement('button'), {type: 'button', textContent: text, ariaLabel: label, onclick});

	const ask = async (method, url, name, to) => {
		if (/^\.{0,2}$/.test(name)) // no name, but a directory above
			return;
		const headers = to ? {destination: new URL(encodeURIComponent(to), base).href, overwrite: 'F'} : {};
		const answer = await fetch(url, {method, headers}).catch(() => ({}));
		if (answer.ok)
			main.dispatchEvent(new Event('changed'));
		const status = method === 'MKCOL' && answer.status === 405 ? 412 : answer.status;
		said.textContent = answer.ok ? '' : name + ': ' + (WORDS[status] ?? (status || 'no answer'));
	};

	const rename = (url, name) => {
		const to = prompt('New name of ' + name, name);
		if (to && to !== name)
			ask('MOVE', url, to, to);
	};
	const remove = (url, name) => {
		if (confirm('Delete ' + name + '? It cannot be restored.'))
			ask('DELETE', url, name);
	};
	const make = () => {
		const name = prompt('Name of the new directory');
		if (name)
			ask('MKCOL', base + encodeURIComponent(name) + '/', name);
	};

	// The buttons of each row, once Edit is pressed.
	const show = () => {
		bar.firstChild.ariaPressed = editing;
		main.querySelectorAll('td button').forEach(old => old.remove());
		for (const link of editing ? main.querySelectorAll('tbody a:not([href="../"])') : []) {
			const url = new URL(link.getAttribute('href'), base).href, name = link.textContent.replace(/\/$/, '');
			if (drive)
				link.parentNode.append(button('Rename', 'Rename ' + name, () => rename(url, name)));
			if (drive || !url.endsWith('/'))
				link.parentNode.append(button('Delete', 'Delete ' + name, () => remove(url, name)));
		}
	};

	bar.append(button('Edit', 'Edit names', () => {
		editing = !editing;
		show();
	}));
	if (drive)
		bar.append(button('New directory', 'New directory', make));
	bar.className = 'edit';
	said.role = 'alert';
	form.after(bar, said);
	main.addEventListener('listed', show);
	show();
})();
