// Where an engine's shared library may lie, in the order in which the places are asked. Reads folders, opens nothing.
#pragma once

#include <string>
#include <vector>

#include "gpu/python_packages.h"

namespace ridge::engine {

// What is looked for.
struct LibraryQuery {
  std::string file;         // "libonnxruntime.so"; libonnxruntime.so.1.31.1 is found too
  std::string in_packages;  // the folder of the wheel that holds it: "onnxruntime/capi"
  std::string deps;         // its own folder in .deps, a python prefix or a folder of packages: "onnxruntime"
  std::string environment;  // the variable that names it: "RIDGE_ONNXRUNTIME"
  std::vector<std::string> in_folder;  // subfolders of a named folder, asked after the folder itself: "lib"
};

struct LibraryLocation {
  std::string what;                // "RIDGE_ONNXRUNTIME=/opt/ort", "python's site-packages", …
  std::vector<std::string> files;  // libraries found there, newest name first; the system loader's are bare names
  std::string reason;              // why there is none, if there is none
};

// What the search looks at, so that tests can give their own.
struct Surroundings {
  std::string wanted;       // Plan::engine_library; a file or a folder
  std::string environment;  // value of LibraryQuery::environment; likewise
  std::string executable_folder;
  std::string current_folder;
  gpu::PythonSurroundings python;
};
Surroundings surroundings(const LibraryQuery& sought, const std::string& wanted);

// Someone who names a library wants that one: then it is the only place (a file that bears another engine's name was meant for
// that engine). Otherwise .deps (from the program's folder and the
// current one upwards), python's site-packages, the system's loader.
std::vector<LibraryLocation> places(const LibraryQuery& sought, const Surroundings& around);

}  // namespace ridge::engine
