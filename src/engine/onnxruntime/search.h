// Where ONNX Runtime's shared library may lie, in the order in which the places are asked. Reads folders, opens nothing.
#pragma once

#include <string>
#include <vector>

namespace ridge::engine::onnxruntime {

struct Place {
  std::string what;                // "RIDGE_ONNXRUNTIME=/opt/ort", "python's site-packages", …
  std::vector<std::string> files;  // libraries found there, newest name first; the system loader's are bare names
  std::string reason;              // why there is none, if there is none
};

// What the search looks at, so that tests can give their own.
struct Surroundings {
  std::string wanted;       // Plan::engine_library; a file or a folder
  std::string environment;  // RIDGE_ONNXRUNTIME; likewise
  std::string executable_folder;
  std::string current_folder;
  std::vector<std::string> path;  // PATH, split
  std::string virtual_environment;
  std::string home;
};
Surroundings surroundings(const std::string& wanted);

// Someone who names a library wants that one: then it is the only place. Otherwise .deps (from the program's folder and the
// current one upwards), python's site-packages, the system's loader.
std::vector<Place> places(const Surroundings& around);

}  // namespace ridge::engine::onnxruntime
