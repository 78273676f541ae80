// The settings of the GPUs of fake_nvml.cc. Stored in the file named by RIDGE_FAKE_NVML_STATE, so that processes see
// each other's settings like those of a real driver's clients; without it within the process. Lines "INDEX KEY VALUE":
//   power_limit_mw
//   writes                how many changes the GPU took
//   since_ms, energy_mj   moment of the last change of the limit, and the counter then
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

namespace ridge::fake {

using GpuSettings = std::map<std::string, int64_t>;
using Settings = std::map<size_t, GpuSettings>;

inline int64_t monotonic_ms() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

inline Settings parse_settings(std::istream& lines) {
  Settings settings;
  size_t index = 0;
  std::string key;
  for (int64_t value = 0; lines >> index >> key >> value;) settings[index][key] = value;
  return settings;
}

inline const char* settings_file() { return std::getenv("RIDGE_FAKE_NVML_STATE"); }

// Lives until the process ends, like the script (scripted_gpus.h).
inline Settings& settings_of_process() {
  static Settings& settings = *new Settings;
  return settings;
}
// The library is called from several threads at once.
inline std::mutex& settings_mutex() {
  static std::mutex mutex;
  return mutex;
}

inline GpuSettings settings_of(size_t gpu) {
  if (settings_file() == nullptr) {
    std::lock_guard guard(settings_mutex());
    return settings_of_process()[gpu];
  }
  int lock = open((std::string(settings_file()) + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  flock(lock, LOCK_SH);
  std::ifstream lines(settings_file());
  Settings settings = parse_settings(lines);
  close(lock);
  return settings[gpu];
}

// Calls change(settings of the GPU) and stores the result; excludes other processes.
template <typename Change>
void change_settings(size_t gpu, Change&& change) {
  if (settings_file() == nullptr) {
    std::lock_guard guard(settings_mutex());
    return change(settings_of_process()[gpu]);
  }
  int lock = open((std::string(settings_file()) + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  flock(lock, LOCK_EX);
  Settings settings;
  {
    std::ifstream lines(settings_file());
    settings = parse_settings(lines);
  }
  change(settings[gpu]);
  std::ofstream file(settings_file(), std::ios::trunc);
  for (const auto& [index, values] : settings)
    for (const auto& [key, value] : values) file << index << ' ' << key << ' ' << value << '\n';
  file.close();
  close(lock);
}

}  // namespace ridge::fake
