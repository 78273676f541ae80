#include "engine/search.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ridge::engine {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> wheels_under(const std::string& prefix, const LibraryQuery& sought) {
  return gpu::package_libraries(prefix, sought.in_packages, sought.file);
}

LibraryLocation named(const LibraryQuery& sought, const std::string& what, const std::string& file_or_folder) {
  LibraryLocation place{what + file_or_folder, {}, ""};
  std::error_code error;
  if (!fs::is_directory(file_or_folder, error)) {
    place.files = {file_or_folder};  // dlopen's error, if it cannot
    return place;
  }
  place.files = gpu::libraries_in(file_or_folder, sought.file);
  std::string asked;
  for (const std::string& sub : sought.in_folder) {
    if (place.files.empty()) place.files = gpu::libraries_in(fs::path(file_or_folder) / sub, sought.file);
    asked += (asked.empty() ? "" : ", ") + sub + "/";
  }
  if (place.files.empty()) place.reason = "no " + sought.file + " in this folder, nor in its " + asked;
  return place;
}

LibraryLocation deps(const LibraryQuery& sought, const Surroundings& around) {
  LibraryLocation place{".deps above the program", {}, ""};
  for (fs::path folder = around.executable_folder; !folder.empty(); folder = folder.parent_path()) {
    const fs::path own = folder / ".deps" / sought.deps;
    for (const fs::path& root : {folder / ".deps" / "python", own})
      for (std::string& file : wheels_under(root.string(), sought)) place.files.push_back(std::move(file));
    for (const fs::path& library : {own / "lib", own / sought.in_packages})
      for (std::string& file : gpu::libraries_in(library, sought.file)) place.files.push_back(std::move(file));
    if (folder == folder.parent_path()) break;
  }
  if (place.files.empty()) place.reason = "no .deps with " + sought.file + " above " + around.executable_folder;
  return place;
}

LibraryLocation site_packages(const LibraryQuery& sought, const Surroundings& around) {
  LibraryLocation place{"python's site-packages", {}, ""};
  std::string asked;
  for (const std::string& prefix : gpu::python_prefixes(around.python)) {
    for (std::string& file : wheels_under(prefix, sought)) place.files.push_back(std::move(file));
    asked += (asked.empty() ? "" : ", ") + prefix;
  }
  if (place.files.empty())
    place.reason = "no " + sought.in_packages + "/" + sought.file + " under lib/python3* of " + asked;
  return place;
}

// A file with another engine's name belongs to that engine: a repository may hold models of both.
bool names_another(const LibraryQuery& sought, const std::string& wanted) {
  const std::string file = fs::path(wanted).filename().string();
  for (const std::string stem : {"libonnxruntime", "libopenvino"})
    if (file.starts_with(stem) && !sought.file.starts_with(stem)) return true;
  return false;
}

}  // namespace

Surroundings surroundings(const LibraryQuery& sought, const std::string& wanted) {
  std::error_code error;
  Surroundings around;
  around.wanted = wanted;
  if (const char* environment = std::getenv(sought.environment.c_str())) around.environment = environment;
  around.executable_folder = fs::read_symlink("/proc/self/exe", error).parent_path().string();
  around.python = gpu::python_surroundings();
  return around;
}

std::vector<LibraryLocation> places(const LibraryQuery& sought, const Surroundings& around) {
  if (!around.wanted.empty() && !names_another(sought, around.wanted))
    return {named(sought, "--engine-library ", around.wanted)};
  if (!around.environment.empty()) return {named(sought, sought.environment + "=", around.environment)};
  LibraryLocation system{"the system's loader", {sought.file}, ""};
  if (sought.file.ends_with(".so")) system.files.push_back(sought.file + ".1");
  std::vector<LibraryLocation> found = {deps(sought, around), site_packages(sought, around), std::move(system)};
  if (!around.python.own.empty()) std::swap(found[0], found[1]);
  return found;
}

}  // namespace ridge::engine
