#include "gpu/python_packages.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ridge::gpu {
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

}  // namespace

PythonSurroundings python_surroundings() {
  std::error_code error;
  return {prefix_around(fs::read_symlink("/proc/self/exe", error).parent_path().string()),
          environment_variable("VIRTUAL_ENV"), split_path(environment_variable("PATH")), environment_variable("HOME")};
}

std::string prefix_around(const std::string& folder) {
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    const bool packages = at.filename() == "site-packages" || at.filename() == "dist-packages";
    const fs::path python = at.parent_path();
    if (packages && python.filename().string().starts_with("python3"))
      return python.parent_path().parent_path().string();
  }
  return "";
}

std::vector<std::string> python_prefixes(const PythonSurroundings& around) {
  std::vector<std::string> prefixes;
  auto add = [&](const fs::path& prefix) {
    if (std::find(prefixes.begin(), prefixes.end(), prefix.string()) == prefixes.end())
      prefixes.push_back(prefix.string());
  };
  if (!around.own.empty()) add(around.own);
  if (!around.virtual_environment.empty()) add(around.virtual_environment);
  std::error_code error;
  for (const std::string& folder : around.path)
    if (fs::exists(fs::path(folder) / "python3", error)) add(fs::path(folder).parent_path());
  if (!around.home.empty()) add(fs::path(around.home) / ".local");
  add("/opt/ridge");
  add("/usr/local");
  add("/usr");
  return prefixes;
}

std::vector<std::string> package_libraries(const std::string& prefix, const std::string& folder,
                                           const std::string& name) {
  std::vector<std::string> found;
  for (const fs::path& python : folders_in(fs::path(prefix) / "lib", "python3"))
    for (const char* packages : {"site-packages", "dist-packages"})
      for (std::string& file : libraries_in(python / packages / folder, name)) found.push_back(std::move(file));
  return found;
}

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

}  // namespace ridge::gpu
