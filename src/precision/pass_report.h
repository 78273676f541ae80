// The result of a pass over a model file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridge::precision {

struct PassReport {
  std::string file;                // that was written
  int changed_nodes = 0;           // compute in the new precision
  int kept_nodes = 0;              // suitable but kept: by request, or for a reason given in `notes`
  std::vector<std::string> notes;  // full sentences, for people
  int64_t bytes = 0;               // [bytes] of the file and its data file, if any
};

}  // namespace ridge::precision
