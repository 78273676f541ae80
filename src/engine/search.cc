#include "engine/search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

namespace ridge::engine {
namespace {

namespace fs = std::filesystem;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> folders;
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) folders.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

std::vector<fs::path> folders_in(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().rfind(prefix, 0) == 0) found.push_back(entry.path());
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// The wheel's library under a python prefix: lib/python3.*/site-packages (Debian's: dist-packages).
std::vector<std::string> wheels_under(const fs::path& prefix, const Sought& sought) {
  std::vector<std::string> found;
  for (const fs::path& python : folders_in(prefix / "lib", "python3"))
    for (const char* packages : {"site-packages", "dist-packages"})
      for (std::string& file : libraries_in(python / packages / sought.in_packages, sought.file))
        found.push_back(std::move(file));
  return found;
}

Place named(const Sought& sought, const std::string& what, const std::string& file_or_folder) {
  Place place{what + file_or_folder, {}, ""};
  std::error_code error;
  if (!fs::is_directory(file_or_folder, error)) {
    place.files = {file_or_folder};  // dlopen says why, if it cannot
    return place;
  }
  place.files = libraries_in(file_or_folder, sought.file);
  std::string asked;
  for (const std::string& sub : sought.in_folder) {
    if (place.files.empty()) place.files = libraries_in(fs::path(file_or_folder) / sub, sought.file);
    asked += (asked.empty() ? "" : ", ") + sub + "/";
  }
  if (place.files.empty()) place.reason = "no " + sought.file + " in this folder, nor in its " + asked;
  return place;
}

Place deps(const Sought& sought, const Surroundings& around) {
  Place place{".deps above the program or the current folder", {}, ""};
  std::set<fs::path> seen;
  for (const std::string& start : {around.executable_folder, around.current_folder}) {
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      if (seen.insert(folder).second) {
        const fs::path own = folder / ".deps" / sought.deps;
        for (const fs::path& root : {folder / ".deps" / "python", own})
          for (std::string& file : wheels_under(root, sought)) place.files.push_back(std::move(file));
        for (const fs::path& library : {own / "lib", own / sought.in_packages})
          for (std::string& file : libraries_in(library, sought.file)) place.files.push_back(std::move(file));
      }
      if (folder == folder.parent_path()) break;
    }
  }
  if (place.files.empty())
    place.reason =
        "no .deps with " + sought.file + " above " + around.executable_folder + " or " + around.current_folder;
  return place;
}

Place site_packages(const Sought& sought, const Surroundings& around) {
  Place place{"python's site-packages", {}, ""};
  std::vector<fs::path> prefixes;
  if (!around.virtual_environment.empty()) prefixes.emplace_back(around.virtual_environment);
  std::error_code error;
  for (const std::string& folder : around.path)
    if (fs::exists(fs::path(folder) / "python3", error)) prefixes.push_back(fs::path(folder).parent_path());
  if (!around.home.empty()) prefixes.push_back(fs::path(around.home) / ".local");
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  std::string asked;
  std::set<fs::path> seen;
  for (const fs::path& prefix : prefixes) {
    if (!seen.insert(prefix).second) continue;
    for (std::string& file : wheels_under(prefix, sought)) place.files.push_back(std::move(file));
    asked += (asked.empty() ? "" : ", ") + prefix.string();
  }
  if (place.files.empty())
    place.reason = "no " + sought.in_packages + "/" + sought.file + " under lib/python3* of " + asked;
  return place;
}

// A file that bears another engine's name was named for that engine: a repository may hold models of both.
bool names_another(const Sought& sought, const std::string& wanted) {
  const std::string file = fs::path(wanted).filename().string();
  for (const std::string stem : {"libonnxruntime", "libopenvino"})
    if (file.starts_with(stem) && !sought.file.starts_with(stem)) return true;
  return false;
}

}  // namespace

std::vector<std::string> libraries_in(const std::string& folder, const std::string& name) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::string file = entry.path().filename().string();
    if (file == name || file.starts_with(name + ".")) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

Surroundings surroundings(const Sought& sought, const std::string& wanted) {
  std::error_code error;
  Surroundings around;
  around.wanted = wanted;
  around.environment = environment_variable(sought.environment.c_str());
  around.executable_folder = fs::read_symlink("/proc/self/exe", error).parent_path().string();
  around.current_folder = fs::current_path(error).string();
  around.path = split_path(environment_variable("PATH"));
  around.virtual_environment = environment_variable("VIRTUAL_ENV");
  around.home = environment_variable("HOME");
  return around;
}

std::vector<Place> places(const Sought& sought, const Surroundings& around) {
  if (!around.wanted.empty() && !names_another(sought, around.wanted))
    return {named(sought, "--engine-library ", around.wanted)};
  if (!around.environment.empty()) return {named(sought, sought.environment + "=", around.environment)};
  Place system{"the system's loader", {sought.file}, ""};
  if (sought.file.ends_with(".so")) system.files.push_back(sought.file + ".1");
  return {deps(sought, around), site_packages(sought, around), std::move(system)};
}

}  // namespace ridge::engine
