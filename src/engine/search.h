// The locations to search for an engine's shared library, in order. Reads folders, opens nothing.
#pragma once

#include <string>
#include <vector>

#include "gpu/python_packages.h"

namespace ridge::engine {

// A library to search for.
struct LibraryQuery {
  std::string file;         // "libonnxruntime.so"; libonnxruntime.so.1.31.1 is found too
  std::string in_packages;  // the folder of the wheel that holds it: "onnxruntime/capi"
  std::string deps;         // its own folder in .deps, a python prefix or a folder of packages: "onnxruntime"
  std::string environment;  // the variable that names it: "RIDGE_ONNXRUNTIME"
  std::vector<std::string> in_folder;  // subfolders of a named folder, searched after the folder itself: "lib"
};

struct LibraryLocation {
  std::string what;                // "RIDGE_ONNXRUNTIME=/opt/ort", "python's site-packages", …
  std::vector<std::string> files;  // libraries found there, newest name first; the system loader's are bare names
  std::string reason;              // why there is none, if there is none
};

// The environment of the search, so that tests can supply their own.
struct Surroundings {
  std::string wanted;       // Plan::engine_library; a file or a folder
  std::string environment;  // value of LibraryQuery::environment; likewise
  std::string executable_folder;
  gpu::PythonSurroundings python;
};
Surroundings surroundings(const LibraryQuery& sought, const std::string& wanted);

// Only a named library is searched (a file with another engine's name is ignored). Otherwise .deps (from the program's
// folder upwards), python's site-packages, the system's loader; where the program itself is a python package, the
// site-packages are first. The current folder is not searched: an installed program loads no code from where it happens
// to run.
std::vector<LibraryLocation> places(const LibraryQuery& sought, const Surroundings& around);

}  // namespace ridge::engine
