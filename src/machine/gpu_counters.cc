#include "machine/gpu_counters.h"

#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/clock.h"
#include "base/json.h"

namespace ridge::machine {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(100);
constexpr const char* kCounters[] = {"sys/bus/pci/devices/*/hwmon/hwmon*/energy1_input",
                                     "sys/bus/pci/devices/*/hwmon/hwmon*/energy2_input"};
constexpr const char* kTables = "sys/bus/pci/devices/*/gpu_metrics";  // binary

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string hexadecimal(const std::string& bytes) {
  std::string digits;
  for (char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

// Paths below the root, without a slash in front.
std::vector<std::string> matches(const std::string& root, const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob((root + "/" + pattern).c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i] + root.size() + 1);
  globfree(&found);
  return paths;
}

// The lines of a process's DRM files about the GPU. False: its files may not be listed.
bool add_clients(const std::string& root, const std::string& process, std::map<std::string, std::string>& texts) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/" + process + "/fd", failure)) {
    std::error_code gone;
    if (!std::filesystem::read_symlink(entry.path(), gone).string().starts_with("/dev/dri/")) continue;
    const std::string path = process + "/fdinfo/" + entry.path().filename().string();
    std::istringstream lines(text_of(root + "/" + path));
    std::string text;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("drm-")) text += line + "\n";
    if (!text.empty()) texts[path] = std::move(text);
  }
  return failure != std::errc::permission_denied;
}

bool look(const std::string& root, std::map<std::string, std::string>& texts) {
  for (const char* pattern : kCounters)
    for (const std::string& path : matches(root, pattern)) texts[path] = text_of(root + "/" + path);
  for (const std::string& path : matches(root, kTables)) texts[path] = hexadecimal(text_of(root + "/" + path));
  bool complete = true;
  for (const std::string& process : matches(root, "proc/[0-9]*")) complete &= add_clients(root, process, texts);
  return complete;
}

}  // namespace

Result<std::string> take_gpu_counters(const std::string& root, Clock& clock) {
  GpuCounterSamples samples;
  look(root, samples.before);
  const TimePoint first = clock.now();
  clock.sleep_for(kBetweenLooks);
  samples.elapsed_ns = static_cast<double>(Nanoseconds(clock.now() - first).count());
  samples.complete = look(root, samples.after);
  return dump_json(json_of(samples));
}

Result<GpuCounterSamples> parse_gpu_counters(std::string_view text) {
  RIDGE_ASSIGN(const Json json, parse_json(text, "the looks at the GPUs"));
  RIDGE_ASSIGN(GpuCounterSamples samples, from_json<GpuCounterSamples>(json));
  samples.clients_before = drm_clients(samples.before);
  samples.clients_after = drm_clients(samples.after);
  return samples;
}

}  // namespace ridge::machine
