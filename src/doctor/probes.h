// The sources beside files on the running system: tools, libraries, measurements.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doctor/gather.h"

namespace ridge::doctor {

struct Probe {
  std::vector<std::string_view> areas;  // that need it
  const char* entry;                    // destination of its text in the tree
  std::string step;                     // for the progress line
  std::function<Result<std::string>(const machine::Tree& read)>
      ask;  // `read`: the files so far; returns within its limit
};

// In order. `package_folders`: absolute site-packages folders to search beside the usual ones.
std::vector<Probe> probes_of(const GatherOptions& options, const std::vector<std::string>& package_folders);

// The records of /dev/kmsg ("6,1234,5678901,-;message") as dmesg shows them: "[    5.678901] message".
std::string kernel_log_from_records(std::string_view records);

}  // namespace ridge::doctor
