"""Checks that PyYAML, npm's yaml and so editors and linters read the files, and read the same in them.

usage: compare.py NODE_MODULES FILE..."""

import json
import pathlib
import re
import subprocess
import sys

import yaml



class Loader(yaml.SafeLoader):
    """PyYAML, with YAML 1.2's booleans: the format has a key `on`, which YAML 1.1 takes for true."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:bool"]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), "tf")

modules, files = sys.argv[1], sys.argv[2:]
reader = pathlib.Path(__file__).with_name("read.mjs")
done = subprocess.run(["node", str(reader), modules, *files], capture_output=True, text=True, timeout=120)
if done.returncode != 0:
    sys.exit(f"npm's yaml could not be run: {done.stderr}")
passed = failed = 0
for file, line in zip(files, done.stdout.rstrip("\n").split("\n"), strict=True):
    theirs = json.loads(line)
    try:
        ours = {"value": yaml.load(pathlib.Path(file).read_text(encoding="utf-8"), Loader)}
    except yaml.YAMLError as error:
        ours = {"error": " ".join(str(error).split())}
    if "error" not in ours and ours == theirs:
        passed += 1
        print(f"ok   {file}")
    else:
        failed += 1
        print(f"FAIL {file}: PyYAML: {json.dumps(ours)[:300]}; yaml: {json.dumps(theirs)[:300]}")
print(f"{passed} passed, {failed} failed")
sys.exit(0 if passed and not failed else 1)
