# Installs what the package depends on, with extras and a dependency group, without the package.
# Usage: .ci/install.py GROUP EXTRA...

import subprocess
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
group, *extras = sys.argv[1:]
wanted = project["dependencies"]
for extra in extras:
    # What an extra takes over from another is named beside it.
    one = project["optional-dependencies"][extra]
    wanted += [each for each in one if not each.startswith(project["name"])]
pip = [sys.executable, "-m", "pip", "install", "--quiet"]
subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
sys.exit(subprocess.run([*pip, "--group", group, *wanted]).returncode)
