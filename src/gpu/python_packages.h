// Libraries in python's packages (wheels): finds the pythons and their folders. Reads folders, opens nothing.
#pragma once

#include <string>
#include <vector>

namespace ridge::gpu {

// The environment that determines the pythons, replaceable by tests.
struct PythonSurroundings {
  std::string own;                  // the prefix in whose packages the program itself lies; empty: in none
  std::string virtual_environment;  // VIRTUAL_ENV
  std::vector<std::string> path;    // PATH, split
  std::string home;                 // HOME
};
PythonSurroundings python_surroundings();

// The packages' prefix above `folder`: "/venv" for /venv/lib/python3.11/site-packages/ridge/bin; empty: none.
std::string prefix_around(const std::string& folder);

// The prefixes of those pythons: the program's own, the virtual environment, those on PATH, ~/.local, /opt/ridge (where
// docs/install.md puts the engines of a system's ridge), /usr/local, /usr; each once.
std::vector<std::string> python_prefixes(const PythonSurroundings& around);

// The libraries in `folder` of the packages under a prefix (lib/python3.*/site-packages; Debian's: dist-packages), as
// libraries_in finds them. `folder`: "onnxruntime/capi".
std::vector<std::string> package_libraries(const std::string& prefix, const std::string& folder,
                                           const std::string& name);

// Files of `folder` named `name` or name.something, the longest name first, because it is the real file.
std::vector<std::string> libraries_in(const std::string& folder, const std::string& name);

}  // namespace ridge::gpu
