"""packaging/ansible: the role says all that it uses, and its template is a configuration. Ansible itself is not here."""
import glob
import os
import re

import yaml

import server as srv

FOLDER = os.path.join(srv.TOP, "packaging", "ansible")
ROLE = os.path.join(FOLDER, "roles", "h2d")
ANSIBLES = {"ansible_managed", "inventory_hostname_short", "health"}  # of Ansible, and registered in roll.yml


def read(path):
	with open(path) as f:
		return f.read()


def test_every_variable_has_a_default():
	defaults = yaml.safe_load(read(os.path.join(ROLE, "defaults", "main.yml")))
	play = yaml.safe_load(read(os.path.join(FOLDER, "roll.yml")))[0]
	files = [path for path in glob.glob(os.path.join(FOLDER, "**", "*"), recursive=True) if os.path.isfile(path)]
	used = {name for path in files for name in re.findall(r"\{\{ *(\w+)", read(path))}
	used |= {name for path in files for name in re.findall(r"^\s+(?:when|until): (\w+)", read(path), re.M)}
	assert used - ANSIBLES == set(defaults) | set(play["vars"])
	assert play["serial"] == 1 and play["roles"] == ["h2d"]


def test_the_steps():
	"""Out, a pause, the role, what it notifies, back in, and well: in that order."""
	play = yaml.safe_load(read(os.path.join(FOLDER, "roll.yml")))[0]
	steps = [str(step) for step in [*play["pre_tasks"], *play["roles"], *play["post_tasks"]]]
	for step, word in zip(steps, ("-s drain", "wait_for", "h2d", "flush_handlers", "-s undrain", "healthz"), strict=True):
		assert word in step
	tasks = yaml.safe_load(read(os.path.join(ROLE, "tasks", "main.yml")))
	handlers = yaml.safe_load(read(os.path.join(ROLE, "handlers", "main.yml")))
	assert {task["notify"] for task in tasks if "notify" in task} == {handler["name"] for handler in handlers}


def test_the_template(h2d):
	server = h2d.new()
	values = {"ansible_managed": "x", "inventory_hostname_short": "web-1", "h2d_admin_socket": server.path("admin.sock")}
	text = re.sub(r"\{\{ (\w+) \}\}", lambda m: values[m.group(1)], read(os.path.join(ROLE, "templates", "h2d.conf.j2")))
	for there, here in (("/srv/www", server.root), ("/run/h2d", server.dir), ("/var/log/h2d", server.dir), ('user           = "h2d"\n', "")):
		assert there in text
		text = text.replace(there, here)
	server.put_conf(text)
	server.run("-t", check=0)
	assert 'instance-name = "web-1"' in re.sub(" +", " ", server.run("-T", check=0).out)
