"""Puts what an installation needs of the top level into the package; the rest is in setup.cfg."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("alembic/**/*.py", "alembic/*.mako", "production.ini", "development.ini", "constraints/run.txt")
# By these names alone: whoever starts containers there keeps a master key and passwords beside them.
SHIPPED += ("deploy/*file", "deploy/*.cfg", "deploy/*.conf", "deploy/*.sh", "deploy/*.yaml")
SHIPPED += ("deploy/*.service", "deploy/*.socket", "deploy/*.timer", "deploy/*.logrotate")
SHIPPED += ("deploy/*.example",)


class BuildWithShipped(build_py):
    """Copy them. secretsvc/deployment/package_data.py finds them in an editable installation."""

    def run(self):
        super().run()
        if not self.editable_mode:
            for target, source in self.shipped().items():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target, preserve_mode=False)

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), *self.shipped()]

    def get_source_files(self):
        return [*super().get_source_files(), *self.shipped().values()]

    def shipped(self):
        """Each file, by where it goes."""
        folder = Path(self.build_lib, "secretsvc", "shipped")
        found = sorted(path for pattern in SHIPPED for path in Path().glob(pattern))
        return {str(folder / path): str(path) for path in found}


setup(cmdclass={"build_py": BuildWithShipped})
